import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { installDebian } from "../gate/install-debian.ts";
import { runStep, tell } from "../gate/run-step.ts";
import { vitestStep } from "../gate/vitest-step.ts";
import { startProcess } from "../stage/start-process.ts";
import { type BuiltImage, openImageBuilder } from "./build-images.ts";

/**
 * `npm run prove -- images`: builds both targets of the Dockerfile. The hub's image must run as its unprivileged user on a
 * read-only root. The worker's executable must run in its image and in plain Debian 11, 12 and 13.
 */

const DEBIANS = [11, 12, 13] as const;

/** Script that mounts the image read-only with its volume and switches to its user. */
const ENTER = `set -e
root=$1 uid=$2 workdir=$3 volume=$4; shift 4
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero random urandom; do touch "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o "uid=$uid,mode=700" tmpfs "$root$volume"
mount -o remount,ro,bind "$root"
exec chroot --userspec="$uid:$uid" "$root" /usr/bin/env -i "$@"`;

/** Returns the arguments of `unshare` that run `command` in the image, with its own mount namespace and environment. */
function inside(image: BuiltImage, about: { volume: string; env?: string[]; command: readonly string[] }): string[] {
  const uid = uidOf(image);
  const env = [...image.env, ...(about.env ?? [])];
  const change = ["sh", "-c", `cd "${image.workdir}" && exec "$@"`, "sh"];
  const enter = ["-m", "sh", "-c", ENTER, "sh", image.folder, String(uid), image.workdir, about.volume];
  return [...enter, ...env, ...change, ...about.command];
}

function uidOf({ folder, user }: BuiltImage): number {
  const line = readFileSync(join(folder, "etc/passwd"), "utf8")
    .split("\n")
    .find((text) => text.startsWith(`${user}:`));
  return Number(line?.split(":")[2] ?? 0);
}

/** Returns the uids of processes whose root is the image. */
function uidsIn(folder: string): number[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const text = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      const isOurs =
        /^\d+$/.test(pid) &&
        text.includes("/main.ts") &&
        readFileSync(`/proc/${pid}/mountinfo`, "utf8").includes(folder);
      return isOurs ? [Number(/^Uid:\s+(\d+)/m.exec(status)?.[1])] : [];
    } catch {
      return [];
    }
  });
}

async function tryHub(image: BuiltImage): Promise<string[]> {
  const problems: string[] = [];
  const env = ["TIDEMARK_HOST=127.0.0.1", "TIDEMARK_PORT=0"];
  const hub = await startProcess({
    title: "the hub in its image",
    entry: "/usr/bin/unshare",
    args: inside(image, { volume: "/data", env, command: image.command }),
    readReady: (line) => /Tidemark is ready at (http:\/\/\S+)/.exec(line)?.[1] ?? null,
  });
  try {
    for (const path of ["/healthz", "/sign-in"]) {
      const { status } = await fetch(new URL(path, hub.ready));
      if (status !== 200) problems.push(`the hub answers ${path} with ${status}`);
    }
    const uids = uidsIn(image.folder);
    console.log(`    the hub runs as uid ${[...new Set(uids)].join(", ")}, ${uids.length} processes`);
    if (uids.length < 3 || uids.includes(0)) problems.push(`its processes run as uids ${uids.join(", ")}`);
  } finally {
    const { code } = await hub.stop();
    if (code !== 0) problems.push(`the hub ended with ${code}`);
  }
  return problems;
}

function tryReadOnly(image: BuiltImage, volume: string): string[] {
  const write = ["sh", "-c", "touch /written 2>/dev/null || touch /usr/written 2>/dev/null; echo $?"];
  const said = execFileSync("unshare", inside(image, { volume, command: write }), { encoding: "utf8" }).trim();
  return said === "0" ? ["its root can be written"] : [];
}

function tryWorker(image: BuiltImage): string[] {
  const [program = "tidemark"] = image.command;
  const args = inside(image, { volume: "/var/lib/tidemark", command: [program, "version"] });
  const said = execFileSync("unshare", args, { encoding: "utf8" }).trim();
  console.log(`    the worker says: ${said}`);
  return /\d+\.\d+\.\d+/.test(said) ? [] : [`the worker says "${said}"`];
}

async function tryDebians(): Promise<string[]> {
  const problems: string[] = [];
  const folders: string[] = [];
  for (const version of DEBIANS) {
    const debian = await installDebian(version);
    if ("missing" in debian) problems.push(`Debian ${version} could not be made: ${debian.missing}`);
    else folders.push(debian.folder);
  }
  const { read, ...step } = vitestStep("process", {
    files: ["e2e/process/single-file.test.ts"],
    env: { PLAIN_ROOTS: folders.join(":") },
  });
  const result = await runStep({ title: "the executable in bare Debian 11, 12, 13", ...step });
  const report = read();
  tell(result, report ?? undefined);
  if (!result.ok || report === null || report.skipped > 0) problems.push("the executable failed in a bare Debian");
  return problems;
}

/** Runs the proof and returns the exit code. */
export async function proveImages(): Promise<number> {
  if (process.platform !== "linux" || process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    console.error("Images are built with buildah from apt-get, which needs Debian and root.");
    return 2;
  }
  const problems: string[] = [];
  const timed = async (title: string, work: () => Promise<string[]>): Promise<void> => {
    const startedAt = performance.now();
    const found = await work().catch((error: unknown) => [error instanceof Error ? error.message : String(error)]);
    console.log(
      `${found.length === 0 ? "ok  " : "FAIL"} ${title} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`,
    );
    for (const problem of found) console.log(`  x ${problem}`);
    problems.push(...found);
  };
  const builder = await openImageBuilder();
  try {
    await timed("the hub's image: built, started without rights on a read-only root", async () => {
      const image = await builder.build("hub");
      return [...tryReadOnly(image, "/data"), ...(await tryHub(image))];
    });
    await timed("the worker's image: built, started without rights on a read-only root", async () => {
      const image = await builder.build("worker");
      return [...tryReadOnly(image, "/var/lib/tidemark"), ...tryWorker(image)];
    });
  } finally {
    await builder.remove();
  }
  await timed("the worker in bare Debian 11, 12, 13", tryDebians);
  console.log(problems.length === 0 ? "The images are as they should be." : `${problems.length} problems.`);
  return problems.length === 0 ? 0 : 1;
}
