// SPDX-License-Identifier: Apache-2.0
//
// What is changed in packages on the way into the bundle. zrender keeps the widths of texts in plain objects: a kernel
// called __proto__ would find Object.prototype there and write its list's links onto it, and so would one whose name is cut
// to "constructor" or "valueOf". Without a prototype there is nothing to find. A build fails when the place is gone.

import { readFileSync } from "node:fs";

const maps = "this._map = {};";

export const mend = {
  name: "mend",
  setup(build) {
    build.onLoad({ filter: /[\\/]zrender[\\/]lib[\\/]core[\\/]LRU\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (text.split(maps).length !== 3) throw new Error(`${path} is not what mend.mjs knows`);
      return { contents: text.replaceAll(maps, "this._map = Object.create(null);"), loader: "js" };
    });
  },
};
