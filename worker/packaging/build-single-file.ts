import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { appendNote } from "./append-note.ts";

/** Name of the note in which Node looks for the embedded program, and the marker whose digit after it must be set to 1. */
const NOTE = "NODE_SEA_BLOB";
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:";

export interface SingleFile {
  script: string;
  outfile: string;
  /** Paths of embedded files, by the names under which the program reads them. */
  assets: Record<string, string>;
}

/**
 * Makes one Linux executable from a CommonJS script and the running Node. It contains a startup snapshot, the heap of a
 * process that has loaded the script (decision 43), which halves the time to the first request. Builds of the same script
 * differ only in the pid of that process and its checksum.
 * @throws Error when this Node cannot embed a program
 */
export async function buildSingleFile({ script, outfile, assets }: SingleFile): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-single-file-"));
  try {
    await writeFile(join(folder, "tidemark.cjs"), script);
    await writeFile(join(folder, "config.json"), JSON.stringify({ ...CONFIG, assets }));
    // A fixed seed makes the snapshot reproducible, because the heap contains random numbers of V8.
    const args = ["--random-seed=1", "--experimental-sea-config", "config.json"];
    // Started by its bare name, because the snapshot records the name.
    await promisify(execFile)("node", args, {
      cwd: folder,
      env: { NODE_ENV: "production", PATH: dirname(process.execPath) },
    });
    const node = switchedOn(await readFile(process.execPath));
    const content = await readFile(join(folder, CONFIG.output));
    // A process that runs the existing file keeps it, because the file is unlinked and not overwritten.
    await rm(outfile, { force: true });
    await writeFile(outfile, appendNote(node, { name: NOTE, content }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The snapshot records the script's path, so the path must not depend on the folder of the build. */
const CONFIG = {
  main: "/proc/self/cwd/tidemark.cjs",
  output: "tidemark.blob",
  disableExperimentalSEAWarning: true,
  useSnapshot: true,
  // Ignores NODE_OPTIONS, which a container image sets for its own Node.
  execArgvExtension: "none",
  // V8's four threads for compilation and garbage collection cost a twentieth of all CPU and save no time in short runs, in
  // which optimized code does not pay off either. Young objects live as long as a request. V8's initial young generation of
  // 1 MB is collected while most of them are still alive, which promotes them to the old generation.
  execArgv: [
    "--single-threaded",
    "--invocation-count-for-turbofan=30000",
    "--invocation-count-for-maglev=200",
    "--min-semi-space-size=8",
    // A short command ends before a full collection is worthwhile.
    "--initial-old-space-size=64",
  ],
};

function switchedOn(node: Buffer): Buffer {
  const at = node.indexOf(`${FUSE}0`);
  if (at < 0 || node.includes(`${FUSE}0`, at + 1)) throw new Error("this Node cannot carry a program of its own");
  node.write("1", at + FUSE.length);
  return node;
}
