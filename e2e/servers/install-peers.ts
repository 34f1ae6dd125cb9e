import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ClientTools, installPythonClients, installRclone, type Tool } from "./install.ts";
import { PEER_PINS } from "./pins.ts";

/**
 * Installs the clients that only the benchmarks need, beside those of the conformance tests in `.tools/`. Pinned and done
 * once; a peer that cannot be had is reported as missing with the reason, and the benchmark goes on without it.
 */

const TOOLS = join(import.meta.dirname, "../../.tools");
const INSTALL_LIMIT_MS = 20 * 60_000;
const run = promisify(execFile);
const options = { timeout: INSTALL_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };

const reason = (error: unknown): string => {
  const text = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
  return text.trim().split("\n").at(-1) ?? "no reason given";
};

/** Does `work` unless it was done for the same pin. */
async function once(given: { made: string; pin: string; work: () => Promise<void> }): Promise<Tool> {
  const { made, pin, work } = given;
  const stamp = `${made}.pin`;
  if (existsSync(made) && (await readFile(stamp, "utf8").catch(() => "")) === pin) return { program: made };
  try {
    await work();
    await writeFile(stamp, pin);
    return { program: made };
  } catch (error) {
    return { missing: reason(error) };
  }
}

/** rclone, and boto3 with the aws command. */
export async function installKnownPeers(): Promise<ClientTools & { readonly rclone: Tool }> {
  return { rclone: await installRclone({ ci: false }), ...(await installPythonClients({ ci: false })) };
}

/** s5cmd, built with Go. */
export function installS5cmd(): Promise<Tool> {
  const { module, version } = PEER_PINS.s5cmd;
  return once({
    made: join(TOOLS, "bin/s5cmd"),
    pin: `${module}@${version}`,
    work: async () => {
      console.log("Building s5cmd once; this takes a few minutes.");
      const folder = await mkdtemp(join(tmpdir(), "tidemark-s5cmd-"));
      try {
        await writeFile(join(folder, "go.mod"), `module peers\n\ngo 1.23\n\nrequire ${module} ${version}\n`);
        const env = { ...process.env, GOBIN: join(TOOLS, "bin"), GOFLAGS: "-mod=mod -trimpath" };
        await run("go", ["install", module], { ...options, env, cwd: folder });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  });
}

/** The folder with AWS's C runtime for Python: apart from the environment, because its presence changes what boto3 does. */
export function installAwsCrt(python: Tool): Promise<Tool> {
  if ("missing" in python) return Promise.resolve(python);
  const made = join(TOOLS, "awscrt");
  return once({
    made,
    pin: PEER_PINS.awscrt,
    work: async () => {
      await mkdir(TOOLS, { recursive: true });
      await rm(made, { recursive: true, force: true });
      const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", made];
      await run(python.program, [...args, PEER_PINS.awscrt], options);
    },
  });
}

/** aria2c as the system has it; on Debian, as root, it is installed when it is not there. */
export async function installAria2(): Promise<Tool> {
  const find = (): Promise<boolean> =>
    run("aria2c", ["--version"]).then(
      () => true,
      () => false,
    );
  if (await find()) return { program: "aria2c" };
  if (process.getuid?.() !== 0) return { missing: "aria2c is not on the PATH (Debian: apt-get install aria2)" };
  console.log("Installing aria2 with apt-get.");
  try {
    await run("apt-get", ["install", "-y", "--no-install-recommends", "aria2"], options);
  } catch (error) {
    return { missing: `apt-get install aria2 failed: ${reason(error)}` };
  }
  return (await find()) ? { program: "aria2c" } : { missing: "aria2c is not on the PATH" };
}
