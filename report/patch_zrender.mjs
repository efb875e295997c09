// SPDX-License-Identifier: Apache-2.0
//
// Patches zrender in the bundle. zrender caches text widths in plain objects, so a kernel named __proto__, or a name cut
// to "constructor" or "valueOf", would access and modify Object.prototype. The patch creates these objects without a
// prototype. The build fails if the code to patch is not found.

import { readFileSync } from "node:fs";

const maps = "this._map = {};";

export const patchZrender = {
  name: "patch-zrender",
  setup(build) {
    build.onLoad({ filter: /[\\/]zrender[\\/]lib[\\/]core[\\/]LRU\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (text.split(maps).length !== 3) throw new Error(`${path} does not contain the code that patch_zrender.mjs replaces`);
      return { contents: text.replaceAll(maps, "this._map = Object.create(null);"), loader: "js" };
    });
  },
};
