import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isThere } from "#worker/base/disk/is-there.ts";

/** Place where a framework writes from its next start on, because the watched folder exists. */
export interface Elsewhere {
  /** The folder to watch instead. */
  above: string;
  /** Folder that the framework creates there. */
  next: string;
}

/** `version_0` of Lightning's loggers. */
const VERSION = /^(.+)\/version_\d+(?:\/checkpoints)?\/?$/;
/** `multirun/DATE/TIME/0` of Hydra: the folder of one job of a sweep. */
const SWEEP = /^(.+)\/\d{4}-\d\d-\d\d\/\d\d-\d\d-\d\d\/\d+(?:\/.*)?$/;
/** `outputs/DATE/TIME` of Hydra, and one folder of date and time (`20260101-123000-resnet18-224` of timm). */
const DATED =
  /^(.+)\/(?:\d{4}-\d\d-\d\d\/\d\d-\d\d-\d\d|(?:19|20)\d\d-?\d\d-?\d\d[-_T]\d\d[-:]?\d\d[-:]?\d\d[^/]*)(?:\/.*)?$/;
/** `outputs/DATE` of Hydra, in which it makes a folder for each start of that day only. */
const DAY = /^(.+)\/\d{4}-\d\d-\d\d\/?$/;
const TIME = /^\d\d-\d\d-\d\d$/;

/** Files that ultralytics (`args.yaml`) and YOLOv5 (`opt.yaml`) write into the folder of a training. */
const YOLO_SETTINGS = ["args.yaml", "opt.yaml"] as const;
/** Names that they give to it by default. */
const YOLO_RUN = /^(train|exp)(-?\d+)?$/;
const MOST_NUMBER = 10_000;

/**
 * Returns where a framework creates a new folder at its next start because the watched one exists. Null: nothing shows that, or
 * the watched folder does not exist yet.
 */
export async function nextPlace(folder: string): Promise<Elsewhere | null> {
  if (!(await isThere(folder))) return null;
  const [, versions = null] = VERSION.exec(folder) ?? [];
  if (versions !== null)
    return { above: versions, next: `version_${(await highestIn(versions, /^version_(\d+)$/)) + 1}` };
  const [, sweeps = null] = SWEEP.exec(folder) ?? [];
  if (sweeps !== null)
    return { above: sweeps, next: "a folder of the date and time of its start, with one for each job" };
  const [, dated = null] = DATED.exec(folder) ?? [];
  if (dated !== null) return { above: dated, next: "a folder of the date and time of its start" };
  const [, days = null] = DAY.exec(folder) ?? [];
  if (days !== null && (await isOfHydra(folder, days)))
    return { above: days, next: "a folder of the day of its start" };
  return nextOfYolo(basename(folder) === "weights" ? dirname(folder) : folder);
}

const isOfHydra = async (folder: string, above: string): Promise<boolean> =>
  /^(outputs|multirun)$/.test(basename(above)) || (await namesIn(folder)).some((name) => TIME.test(name));

/**
 * Returns the next folder of ultralytics and YOLOv5, which add the first free number to the name of a folder that is there. The
 * folder above is a project (`runs/segment`, `runs/train` of YOLOv5) and keeps its name.
 */
async function nextOfYolo(folder: string): Promise<Elsewhere | null> {
  const above = dirname(folder);
  const settings = await readSettings(folder);
  // `runs/train` without settings is the project of YOLOv5, and `runs/segment/train` is a training.
  const isRun = settings !== null || (YOLO_RUN.test(basename(folder)) && !(await isProject(folder)));
  if (!isRun || /^\s*exist_ok:\s*true\s*$/m.test(settings ?? "")) return null;
  const word = basename(folder).replace(/-?\d+$/, "");
  const taken = new Set(await namesIn(above));
  let number = 2;
  while (number < MOST_NUMBER && (taken.has(`${word}${number}`) || taken.has(`${word}-${number}`))) number++;
  return { above, next: `${word}-${number} or ${word}${number}` };
}

/** Returns whether trainings lie in the folder, or would: it is called `train`, directly below `runs`. */
async function isProject(folder: string): Promise<boolean> {
  const names = await namesIn(folder);
  if (names.includes("weights")) return false;
  return basename(dirname(folder)) === "runs" || names.some((name) => YOLO_RUN.test(name));
}

const MOST_SETTINGS_BYTES = 65_536;

/** Returns the settings of a training; empty when they cannot be read, null where there are none. */
async function readSettings(folder: string): Promise<string | null> {
  const names = new Set(await namesIn(folder));
  const own = YOLO_SETTINGS.find((name) => names.has(name));
  if (own === undefined || !names.has("weights")) return null;
  const path = join(folder, own);
  const stats = await stat(path).catch(() => null);
  if (stats === null || !stats.isFile() || stats.size > MOST_SETTINGS_BYTES) return "";
  return readFile(path, "utf8").catch(() => "");
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** Returns the highest number of the names in a folder; -1: none has one. */
async function highestIn(folder: string, pattern: RegExp): Promise<number> {
  const names = await namesIn(folder);
  return names.reduce((highest, name) => Math.max(highest, Number(pattern.exec(name)?.[1] ?? -1)), -1);
}
