// SPDX-License-Identifier: Apache-2.0
//
// State that the sections of the page share: the model and the selected kernel.

import type { Kernel, Model } from "./model";

export interface Context {
  model: Model;
  chosen: Kernel | null;
  choose(kernel: Kernel): void;
  onChoose(listener: (kernel: Kernel) => void): void;
}

export function makeContext(model: Model): Context {
  const listeners: ((kernel: Kernel) => void)[] = [];
  return { model, chosen: model.byTime[0] ?? null,
    choose(kernel) {
      if (this.chosen === kernel) return;
      this.chosen = kernel;
      for (const listener of listeners) listener(kernel);
    },
    onChoose(listener) { listeners.push(listener); } };
}
