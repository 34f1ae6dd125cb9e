import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { appendNote } from "./append-note.ts";

/** Node looks for its program under this name, once this one character of it is a 1. */
const NOTE = "NODE_SEA_BLOB";
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:";

export interface SingleFile {
  script: string;
  outfile: string;
  /** Files that it carries, by the names it asks for them. */
  assets: Record<string, string>;
}

/**
 * Makes one executable of a CommonJS text and the Node that runs this: for Linux, on Linux. What lies in it is the memory of
 * a process that has loaded the text (decision 43), which halves what comes before the first request. The same text makes the
 * same file but for the number of that process and the sum over it.
 * @throws Error when this Node cannot be made into one
 */
export async function buildSingleFile({ script, outfile, assets }: SingleFile): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-single-file-"));
  try {
    await writeFile(join(folder, "tidemark.cjs"), script);
    await writeFile(join(folder, "config.json"), JSON.stringify({ ...CONFIG, assets }));
    // What is in memory holds numbers that V8 draws by chance.
    const args = ["--random-seed=1", "--experimental-sea-config", "config.json"];
    // By its bare name, which stays in the file too.
    await promisify(execFile)("node", args, {
      cwd: folder,
      env: { NODE_ENV: "production", PATH: dirname(process.execPath) },
    });
    const node = switchedOn(await readFile(process.execPath));
    const content = await readFile(join(folder, CONFIG.output));
    // Another process may be running the file that is there: it keeps its own.
    await rm(outfile, { force: true });
    await writeFile(outfile, appendNote(node, { name: NOTE, content }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The script's name stays in the file: it is to be the same wherever it is built, and nobody's folder. */
const CONFIG = {
  main: "/proc/self/cwd/tidemark.cjs",
  output: "tidemark.blob",
  disableExperimentalSEAWarning: true,
  useSnapshot: true,
  // What an image sets for its own Node (NODE_OPTIONS) is not meant for this one.
  execArgvExtension: "none",
  // V8 has four threads to compile and to collect garbage beside the program: for seconds of little JavaScript they cost a
  // twentieth of all CPU and save no time. Nor is there time for what its best compiler makes of code that runs a thousand times to pay.
  // Young objects live as long as a request takes: in 1 MB, where V8 begins, it finds most of them still alive, and keeps them.
  execArgv: [
    "--single-threaded",
    "--invocation-count-for-turbofan=30000",
    "--invocation-count-for-maglev=200",
    "--min-semi-space-size=8",
    // A short command ends before it is worth to look through everything that may have become garbage.
    "--initial-old-space-size=64",
  ],
};

function switchedOn(node: Buffer): Buffer {
  const at = node.indexOf(`${FUSE}0`);
  if (at < 0 || node.includes(`${FUSE}0`, at + 1)) throw new Error("this Node cannot carry a program of its own");
  node.write("1", at + FUSE.length);
  return node;
}
