import { execFileSync, spawn } from "node:child_process";
import { constants, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import type { Outcome } from "../stage/run-once.ts";

/**
 * A root folder in which there is nothing but one program and the libraries it is linked with: no Node, no shell, no
 * /proc, no certificates. Or another one, a whole Debian for example, which stays as it is but for the program and `/tmp`.
 */
export interface PlainRoot {
  /** The folder, seen from outside. */
  folder: string;
  /** Runs the program with no environment but what is given. */
  run(args: readonly string[], options?: { env?: Record<string, string>; input?: string }): Promise<Outcome>;
  remove(): void;
}

const CHROOT = ["/usr/sbin/chroot", "/usr/bin/chroot"];

/** A part of glibc that is nowhere without the others. What the program carries is linked with it. */
const WITH_LIBC = "librt.so.1";

/** Each library with its path, and the loader: `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x...)`. */
function librariesOf(program: string): string[] {
  const said = execFileSync("ldd", [program], { encoding: "utf8" });
  const linked = [...said.matchAll(/(?:=>\s*|^\s*)(\/\S+)\s+\(0x/gm)].map(([, path]) => path ?? "");
  const libc = linked.find((path) => basename(path) === "libc.so.6");
  return libc === undefined ? linked : [...new Set([...linked, join(dirname(libc), WITH_LIBC)])];
}

/** The roots that the tests run in: the bare one, and those whose folders `PLAIN_ROOTS` names (`debootstrap` makes such). */
export const plainRoots = (): { title: string; folder: string | null }[] => [
  { title: "a root with its libraries alone", folder: null },
  ...(process.env.PLAIN_ROOTS ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => ({ title: basename(folder), folder })),
];

/** `named`: a folder to take as the root; null: a bare one is made. @throws Error where there is no chroot */
export function makePlainRoot(program: string, named: string | null): PlainRoot {
  const folder = named ?? mkdtempSync(join(tmpdir(), "tidemark-root-"));
  const put = (from: string, to: string) => {
    mkdirSync(join(folder, dirname(to)), { recursive: true });
    copyFileSync(from, join(folder, to), constants.COPYFILE_FICLONE);
  };
  const inside = join("/usr/local/bin", basename(program));
  put(program, inside);
  if (named === null) {
    for (const library of librariesOf(program)) put(library, library);
    mkdirSync(join(folder, "tmp"));
  }
  const chroot = CHROOT.find((path) => existsSync(path));
  if (chroot === undefined) throw new Error("there is no chroot on this machine");
  // Only root may change the root; with a user namespace everybody is one.
  const enter = process.getuid?.() === 0 ? [chroot] : ["/usr/bin/unshare", "--map-root-user", chroot];
  const [command = chroot, ...before] = enter;
  return {
    folder,
    run: (args, { env = {}, input = "" } = {}) =>
      new Promise((resolve, reject) => {
        const given = env as NodeJS.ProcessEnv;
        const child = spawn(command, [...before, folder, inside, ...args], { stdio: "pipe", env: given });
        const out = { stdout: "", stderr: "" };
        child.stdout.on("data", (chunk: Buffer) => (out.stdout += chunk.toString()));
        child.stderr.on("data", (chunk: Buffer) => (out.stderr += chunk.toString()));
        child.stdin.on("error", () => undefined);
        child.stdin.end(input);
        child.on("error", reject);
        child.on("close", (code) => resolve({ code, ...out }));
      }),
    remove: () => {
      if (named === null) rmSync(folder, { recursive: true, force: true });
    },
  };
}
