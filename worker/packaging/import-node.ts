import { createRequire } from "node:module";
import type { Plugin } from "esbuild";

/**
 * What Node's own modules cannot be kept in a snapshot with: they hold what belongs to a process (libraries, servers, other
 * processes). Each of their exports is asked for when it is used.
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
 * An import of a module of Node at the top of a file is loaded at every start; this way it is when its importer runs, once,
 * and only the names that somebody uses are looked up: a bundler that has to keep a module as it is makes each of its
 * importers a copy of all its names.
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

/** Stands for a function or a class, in every use: called, made new, asked for its properties, on the right of `instanceof`. */
const LATER = `(name) => new Proxy(function () {}, {
  apply: (_, self, args) => Reflect.apply(here()[name], self, args),
  construct: (_, args) => Reflect.construct(here()[name], args),
  get: (_, key) => Reflect.get(here()[name], key),
})`;
