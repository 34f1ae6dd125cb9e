import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
 * Makes one executable of a CommonJS text and the Node that runs this: for Linux, on Linux. The same text makes the same
 * file, byte for byte. The text lies in it compiled, which takes a third off the time to start.
 * @throws Error when this Node cannot be made into one
 */
export async function buildSingleFile({ script, outfile, assets }: SingleFile): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-single-file-"));
  try {
    await writeFile(join(folder, "tidemark.cjs"), script);
    await writeFile(join(folder, "config.json"), JSON.stringify({ ...CONFIG, assets }));
    // Compiled code holds numbers that V8 draws by chance.
    const args = ["--random-seed=1", "--experimental-sea-config", "config.json"];
    await promisify(execFile)(process.execPath, args, { cwd: folder, env: { NODE_ENV: "production" } });
    const node = switchedOn(await readFile(process.execPath));
    const content = await readFile(join(folder, CONFIG.output));
    // Another process may be running the file that is there: it keeps its own.
    await rm(outfile, { force: true });
    await writeFile(outfile, appendNote(node, { name: NOTE, content }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Names without folders: what they are is in the file. */
const CONFIG = {
  main: "tidemark.cjs",
  output: "tidemark.blob",
  disableExperimentalSEAWarning: true,
  useCodeCache: true,
  // What an image sets for its own Node (NODE_OPTIONS) is not meant for this one.
  execArgvExtension: "none",
};

function switchedOn(node: Buffer): Buffer {
  const at = node.indexOf(`${FUSE}0`);
  if (at < 0 || node.includes(`${FUSE}0`, at + 1)) throw new Error("this Node cannot carry a program of its own");
  node.write("1", at + FUSE.length);
  return node;
}
