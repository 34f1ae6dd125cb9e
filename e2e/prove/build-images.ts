import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { installDebian, installPackages } from "../gate/install-debian.ts";
import { ROOT } from "../stage/start-process.ts";

/**
 * Builds the images of the Dockerfile with buildah, without a Docker engine or an image registry. The base images of FROM are
 * made here from Debian packages and the project's own Node.
 */

const BUILDAH = "/usr/bin/buildah";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const LIMIT_MS = 60 * 60_000;
const run = promisify(execFile);

export interface BuiltImage {
  /** Extracted files of the image, for one use. */
  folder: string;
  env: string[];
  command: string[];
  user: string;
  workdir: string;
}

export interface ImageBuilder {
  /** Builds one target. @throws Error with the end of buildah's output */
  build: (target: "hub" | "worker") => Promise<BuiltImage>;
  /** Removes the images, their mounts, and the folders that `build` returned. */
  remove: () => Promise<void>;
}

interface Config {
  OCIv1: {
    config: { Env?: string[]; Cmd?: string[]; Entrypoint?: string[]; User?: string; WorkingDir?: string };
  };
}

/** Returns the folder of the npm on the PATH; its program is `bin/npm-cli.js`. */
function findNpm(): string {
  const programs = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "npm"));
  const found = programs.find((program) => existsSync(program));
  if (found === undefined) throw new Error("There is no npm on the PATH.");
  return dirname(dirname(realpathSync(found)));
}

/** Makes the base images of FROM. They get this machine's npm settings and certificates, which package downloads need. */
async function makeBases(buildah: (...args: string[]) => Promise<string>, folder: string): Promise<void> {
  const debian = await installDebian(12);
  if ("missing" in debian) throw new Error(`Debian 12 could not be made: ${debian.missing}.`);
  const base = (await buildah("from", "scratch")).trim();
  await buildah("copy", base, debian.folder, "/");
  if (existsSync(CERTIFICATES)) await buildah("copy", base, CERTIFICATES, CERTIFICATES);
  await buildah("commit", base, "localhost/debian:bookworm-slim");

  await buildah("copy", base, join(ROOT, "node_modules/node/bin/node"), "/usr/local/bin/node");
  await buildah("copy", base, findNpm(), "/usr/local/lib/node_modules/npm");
  const npmrc = join(folder, "npmrc");
  const registry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8", cwd: "/" }).trim();
  const lines = [`registry=${registry}`, ...(existsSync(CERTIFICATES) ? [`cafile=${CERTIFICATES}`] : [])];
  writeFileSync(npmrc, `${lines.join("\n")}\n`);
  await buildah("copy", base, npmrc, "/usr/local/etc/npmrc");
  const script =
    "ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && useradd --uid 1000 --create-home node";
  await buildah("run", base, "--", "sh", "-c", script);
  await buildah("commit", base, "localhost/node:24-bookworm-slim");
  await buildah("rm", base);
}

/**
 * Returns the storage driver for buildah. `vfs` works everywhere, but copies all files for every image and container, tens of
 * gigabytes here. `overlay` stores each layer once, but needs support by the kernel and file system.
 */
async function chooseDriver(folder: string): Promise<"overlay" | "vfs"> {
  const places = ["lower", "upper", "work", "merged"].map((name) => join(folder, "try", name));
  const [lower, upper, work, merged = ""] = places;
  for (const place of places) mkdirSync(place, { recursive: true });
  const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
  try {
    await run("mount", ["-t", "overlay", "overlay", "-o", options, merged]);
    await run("umount", [merged]);
    return "overlay";
  } catch {
    return "vfs";
  }
}

/** Prepares buildah with storage of its own. @throws Error when it cannot be installed or a base cannot be made */
export async function openImageBuilder(): Promise<ImageBuilder> {
  await installPackages(BUILDAH, ["buildah"]);
  const folder = mkdtempSync(join(tmpdir(), "images-"));
  for (const name of ["root", "run"]) mkdirSync(join(folder, name));
  const driver = await chooseDriver(folder);
  const storage = ["--root", join(folder, "root"), "--runroot", join(folder, "run"), "--storage-driver", driver];
  const env = { ...process.env, BUILDAH_ISOLATION: "chroot" };
  const buildah = async (...args: string[]): Promise<string> => {
    try {
      const options = { cwd: ROOT, env, timeout: LIMIT_MS, maxBuffer: 256 * 1024 * 1024 };
      return (await run(BUILDAH, [...storage, ...args], options)).stdout;
    } catch (cause) {
      const said = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : String(cause);
      throw new Error(`buildah ${args[0] ?? ""} failed:\n${said.split("\n").slice(-25).join("\n")}`, { cause });
    }
  };
  const remove = async (): Promise<void> => {
    // Containers are removed first: deleting files below a mount would fail, or delete them in the mounted file system.
    await buildah("rm", "--all").catch(() => undefined);
    await buildah("rmi", "--all", "--force").catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await makeBases(buildah, folder);
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    build: async (target) => {
      const name = `localhost/tidemark-${target}`;
      // With layers the second target reuses the stages that both share. With vfs, layers would copy all files for each line.
      const layers = `--layers=${driver === "overlay"}`;
      await buildah("bud", "--pull-never", layers, "--target", target, "-t", name, ".");
      const { config } = (JSON.parse(await buildah("inspect", "--type", "image", name)) as Config).OCIv1;
      const container = (await buildah("from", "--pull-never", name)).trim();
      const files = join(folder, target);
      await run("cp", ["-a", (await buildah("mount", container)).trim(), files]);
      await buildah("rm", container);
      return {
        folder: files,
        env: config.Env ?? [],
        command: [...(config.Entrypoint ?? []), ...(config.Cmd ?? [])],
        user: config.User ?? "root",
        workdir: config.WorkingDir ?? "/",
      };
    },
    remove,
  };
}
