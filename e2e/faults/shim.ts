/**
 * Loaded into the program under test (`node --import`) to make the machine itself fail: names that do not resolve, a disk
 * that is slow, a disk that cannot be read. The program is otherwise the real one. What fails is told in the environment
 * variable TIDEMARK_SHIM; a marker file switches it off, so that the same command can be tried again without the fault.
 */
import { createRequire, syncBuiltinESMExports } from "node:module";

interface ShimOptions {
  /** The fault is over once this file exists. */
  readonly until: string;
  /** `store.example` resolves to this machine; before `failMs` have passed it does not resolve. */
  readonly name?: { readonly host: string; readonly failMs: number; readonly code: string };
  /** Every access to a file whose path contains `path` takes `ms`. */
  readonly slow?: { readonly path: string; readonly ms: number };
  /** Reading a file whose path contains `path` fails with `code`. */
  readonly broken?: { readonly path: string; readonly code: string };
}

type Callback = (...results: unknown[]) => void;
type Method = (...args: unknown[]) => unknown;
type Module = Record<string, Method>;

const require = createRequire(import.meta.url);
const fs = require("node:fs") as Module & { promises: Module };
const dns = require("node:dns") as Module;
const dnsLater = require("node:dns/promises") as Module;
const real = { ...fs };
const options = JSON.parse(process.env.TIDEMARK_SHIM ?? "{}") as ShimOptions;
const isOver = (): boolean => real["existsSync"]?.(options.until) === true;
const startedAt = performance.now();

const errorOf = (code: string) => Object.assign(new Error(`${code}: a scripted fault`), { code });

function pathOf(fd: unknown): string {
  try {
    return String(real["readlinkSync"]?.(`/proc/self/fd/${Number(fd)}`));
  } catch {
    return "";
  }
}

function lookup(...args: unknown[]): unknown {
  const [host, second, third] = args;
  const { name } = options;
  const callback = (typeof second === "function" ? second : third) as Callback;
  if (name === undefined || host !== name.host) return realLookup?.(...args);
  const wantsAll = typeof second === "object" && second !== null && "all" in second && second.all === true;
  setImmediate(() => {
    if (performance.now() - startedAt < name.failMs && !isOver()) callback(errorOf(name.code));
    else if (wantsAll) callback(null, [{ address: "127.0.0.1", family: 4 }]);
    else callback(null, "127.0.0.1", 4);
  });
  return undefined;
}
const realLookup = dns["lookup"];
const realLookupLater = dnsLater["lookup"];
/** The same, for whoever awaits it. */
const lookupLater = (...args: unknown[]): unknown =>
  args[0] === options.name?.host
    ? new Promise((resolve, reject) => {
        lookup(args[0], args[1] ?? {}, (error: unknown, ...found: unknown[]) => {
          if (error instanceof Error) reject(error);
          else resolve(found.length === 1 ? found[0] : { address: found[0], family: found[1] });
        });
      })
    : realLookupLater?.(...args);
if (options.name !== undefined) {
  dns["lookup"] = lookup;
  dnsLater["lookup"] = lookupLater;
}

const sleepNow = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const sleep = (ms: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, ms);
  });
const isSlow = (fd: unknown): boolean =>
  options.slow !== undefined && !isOver() && pathOf(fd).includes(options.slow.path);
const isBroken = (fd: unknown): boolean =>
  options.broken !== undefined && !isOver() && pathOf(fd).includes(options.broken.path);

/** Functions that take a descriptor first, in their three forms. */
function wrap(name: string, about: { access: "read" | "write" }): void {
  const now = fs[`${name}Sync`];
  const later = fs[name];
  if (now !== undefined) {
    fs[`${name}Sync`] = (...args) => {
      if (about.access === "read" && isBroken(args[0])) throw errorOf(options.broken?.code ?? "EIO");
      if (isSlow(args[0])) sleepNow(options.slow?.ms ?? 0);
      return now(...args);
    };
  }
  if (later !== undefined) {
    fs[name] = (...args) => {
      const callback = args.at(-1) as Callback;
      if (about.access === "read" && isBroken(args[0]))
        setImmediate(() => callback(errorOf(options.broken?.code ?? "EIO")));
      else if (isSlow(args[0])) setTimeout(() => later(...args), options.slow?.ms);
      else return later(...args);
      return undefined;
    };
  }
}

/** The methods of a FileHandle, which all handles share. */
async function wrapHandles(): Promise<void> {
  const open = fs.promises["open"];
  const handle = (await open?.(process.execPath, "r")) as { close(): Promise<void> };
  const shared = Object.getPrototypeOf(handle) as Record<string, Method>;
  await handle.close();
  for (const [name, access] of [
    ["read", "read"],
    ["readv", "read"],
    ["write", "write"],
    ["writev", "write"],
  ] as const) {
    const method = shared[name];
    if (method === undefined) continue;
    shared[name] = async function (this: { fd: number }, ...args: unknown[]) {
      if (access === "read" && isBroken(this.fd)) throw errorOf(options.broken?.code ?? "EIO");
      if (isSlow(this.fd)) await sleep(options.slow?.ms ?? 0);
      return method.apply(this, args);
    };
  }
}

if (options.slow !== undefined || options.broken !== undefined) {
  for (const name of ["read", "readv"]) wrap(name, { access: "read" });
  for (const name of ["write", "writev"]) wrap(name, { access: "write" });
  await wrapHandles();
}
syncBuiltinESMExports();
