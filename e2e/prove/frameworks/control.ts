import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { waitUntil } from "../../stage/wait-until.ts";
import type { Case } from "./case.ts";
import { CACHE, HERE } from "./environment.ts";
import { type Folder, readFolder } from "./folders.ts";
import type { Training } from "./judge.ts";
import { endLife, type Journal, type Life, prepareLife } from "./life.ts";
import { newestIn } from "./wait-until-safe.ts";

/**
 * A training without Tidemark: once uninterrupted, once killed at the same steps on a disk that survives. These references do
 * not depend on Tidemark, so they are cached.
 */
export interface Control {
  readonly whole: Training;
  readonly killed: Training;
  /** Steps at which the second and third execution of the killed training resumed. */
  readonly begins: readonly number[];
  /** Final content of the watched folder of the killed training. */
  readonly left: Folder;
}

const training = z.object({ losses: z.array(z.tuple([z.number(), z.number()])), final: z.number().nullable() });
const entry = z.object({
  kind: z.enum(["file", "link"]),
  content: z.string(),
  sizeBytes: z.number(),
  writtenAt: z.number(),
});
const kept = z.object({
  from: z.string(),
  whole: training,
  killed: training,
  begins: z.array(z.number()),
  left: z.array(z.tuple([z.string(), entry])),
});

function digestOf(one: Case): string {
  const hash = createHash("sha256").update(JSON.stringify({ ...one, title: "", note: "", watches: "" }));
  for (const name of [one.script, "journal.py", "../requirements.txt"])
    hash.update(readFileSync(join(HERE, "programs", name)));
  return hash.digest("hex");
}

const LONG_MS = 300_000;
/** Longer than a background save pauses between two writes. */
const QUIET_MS = 2_000;

/**
 * Resolves when nothing below a folder has changed for a while. Orbax and `async_save` continue writing while the training
 * waits.
 */
async function waitUntilQuiet(root: string): Promise<void> {
  let seen = { text: "", at: performance.now() };
  await waitUntil("the program has written everything", () => {
    const text = JSON.stringify([...readFolder(root)]);
    if (text !== seen.text) seen = { text, at: performance.now() };
    return performance.now() - seen.at >= QUIET_MS;
  });
}

/** Runs one execution on this machine until it waits or ends. @throws Error when the program fails */
export async function live(life: Life, { root, out }: { root: string; out: string }): Promise<Journal> {
  const [program = "", ...args] = life.command;
  const file = openSync(out, "a");
  const child = spawn(program, args, {
    stdio: ["ignore", file, file],
    detached: true,
    env: { ...process.env, ...life.env },
  });
  closeSync(file);
  try {
    await waitUntil("the program holds or ends", () => life.read().holds !== null || child.exitCode !== null, {
      withinMs: LONG_MS,
    });
    if (child.exitCode === null) await waitUntilQuiet(root);
  } finally {
    child.kill("SIGKILL");
    await endLife(life);
  }
  const journal = life.read();
  if (journal.holds === null && child.exitCode !== 0)
    throw new Error(
      `without Tidemark the program ended with ${child.exitCode}: ${readFileSync(out, "utf8").slice(-2_000)}`,
    );
  return journal;
}

/** Joins the losses of executions; repeated steps count with their last loss. */
export function joinLives(lives: readonly Journal[]): Training {
  const losses = new Map<number, number>();
  for (const life of lives) for (const [step, loss] of life.losses) losses.set(step, loss);
  return { losses, final: lives.at(-1)?.final ?? null };
}

/** Trains without Tidemark, or reads the cached result. @throws Error when the program itself fails */
export async function trainWithout(one: Case): Promise<Control> {
  const file = join(CACHE, "controls", `${one.name}.json`);
  const from = digestOf(one);
  if (existsSync(file)) {
    const read = kept.safeParse(JSON.parse(readFileSync(file, "utf8")));
    if (read.success && read.data.from === from) {
      const { whole, killed, begins, left } = read.data;
      const mapped = (about: z.infer<typeof training>): Training => ({ ...about, losses: new Map(about.losses) });
      return { whole: mapped(whole), killed: mapped(killed), begins, left: new Map(left) };
    }
  }
  const dir = mkdtempSync(join(tmpdir(), "tidemark-frameworks-"));
  try {
    const untils = [null, ...one.kills, null];
    const journals: Journal[] = [];
    for (const [at, until] of untils.entries()) {
      const root = join(dir, at === 0 ? "whole" : "killed");
      mkdirSync(root, { recursive: true });
      const newest = one.isTold === true ? newestIn(one, readFolder(root)) : null;
      const life = prepareLife({
        one,
        root,
        journal: join(dir, `journal-${at}`),
        until,
        stopsAt: null,
        ...(newest !== null && { resumePath: join(root, newest.path) }),
      });
      journals.push(await live(life, { root, out: join(dir, `out-${at}`) }));
    }
    const [whole, ...lives] = journals;
    const control: Control = {
      whole: joinLives(whole === undefined ? [] : [whole]),
      killed: joinLives(lives),
      begins: lives.slice(1).map(({ begins }) => begins ?? 0),
      left: readFolder(join(dir, "killed", one.watch)),
    };
    const packed = (about: Training) => ({ ...about, losses: [...about.losses] });
    mkdirSync(join(CACHE, "controls"), { recursive: true });
    writeFileSync(
      file,
      JSON.stringify({
        from,
        whole: packed(control.whole),
        killed: packed(control.killed),
        begins: control.begins,
        left: [...control.left],
      }),
    );
    return control;
  } finally {
    if (readdirSync(dir).length > 0) rmSync(dir, { recursive: true, force: true });
  }
}
