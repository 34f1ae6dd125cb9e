import { createRequire } from "node:module";
import type { Plugin } from "esbuild";

/**
 * Modules of Node that cannot be part of a startup snapshot, because they hold state of a process (libraries, servers, child
 * processes). Their exports are looked up at each use.
 */
const NOT_KEPT = new Set([
  "node:child_process",
  "node:dns/promises",
  "node:http",
  "node:https",
  "node:module",
  "node:sea",
  "node:tls",
  "node:vm",
]);
const NAMES_NOT_KEPT = new Set(["BlockList"]);

const NAMESPACE = "node";
const load = createRequire(import.meta.filename);

/**
 * Replaces static imports of Node's modules. Each module becomes one virtual module that looks up only the names in use, when
 * an importer runs. If Node's modules were external, every start would load them, and esbuild would copy all names of a
 * module for each importer.
 */
export const importNode: Plugin = {
  name: "import-node",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:/ }, ({ path, namespace }) =>
      namespace === NAMESPACE ? { path, external: true } : { path, namespace: NAMESPACE, sideEffects: false },
    );
    onLoad({ filter: /./, namespace: NAMESPACE }, ({ path }) => ({ contents: moduleOf(path), loader: "js" }));
  },
};

function moduleOf(path: string): string {
  const names = Object.keys(load(path) as object).filter((name) => /^[A-Za-z_]\w*$/.test(name) && name !== "default");
  const get = (name: string) => (NOT_KEPT.has(path) || NAMES_NOT_KEPT.has(name) ? "later" : "now");
  return [
    `const here = () => process.getBuiltinModule("${path}");`,
    `const now = (name) => here()[name];`,
    `const later = ${LATER};`,
    ...names.map((name) => `const own_${name} = /* @__PURE__ */ ${get(name)}("${name}");`),
    `export { ${names.map((name) => `own_${name} as ${name}`).join(", ")} };`,
  ].join("\n");
}

/** Proxy for a function or class that works for calls, `new`, property access and on the right of `instanceof`. */
const LATER = `(name) => new Proxy(function () {}, {
  apply: (_, self, args) => Reflect.apply(here()[name], self, args),
  construct: (_, args) => Reflect.construct(here()[name], args),
  get: (_, key) => Reflect.get(here()[name], key),
})`;
