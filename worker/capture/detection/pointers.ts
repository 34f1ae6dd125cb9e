import { basename, dirname, join, relative, sep } from "node:path";
import { isLabelName, partOf } from "#protocol/recognition/checkpoint-file-names.ts";
import { lastNumber, TRACKERS } from "#protocol/recognition/checkpoint-layouts.ts";
import type { Candidate } from "./find.ts";

/**
 * Rewrites files that name the newest checkpoint, so that they name the one that is captured or resumed from. A program writes
 * them before or after the checkpoint, so their text may be of another one. Pure.
 */
export interface Pointer {
  name: string;
  /** Folder in which it lies. */
  folder: string;
  text: string;
}

/** Checkpoint that a pointer has to name. */
export type PointedAt = Pick<Candidate, "path" | "name" | "step" | "stepFrom" | "names">;

/** Pointers with one line: the name of the checkpoint (Detectron2), perhaps with its folder (MMEngine), or its step. */
const ONE_LINE = /^(last_checkpoint|latest_checkpoint\.txt)$/;
const TENSORFLOW = "checkpoint";
/** Ends of the files of one TensorFlow checkpoint; the rest of their names is what TensorFlow calls the checkpoint. */
const TENSORFLOW_END = /\.(index|data-\d{5}-of-\d{5})$/;

/** Returns the text with which a pointer names this checkpoint; null: it names it already, or has another meaning. */
export function pointerTo(pointer: Pointer, checkpoint: PointedAt): string | null {
  const wanted = textFor(pointer, checkpoint);
  return wanted === null || wanted.trim() === pointer.text.trim() ? null : wanted;
}

/**
 * Returns the file or folder of this checkpoint to which a link such as `last.ckpt` or `latest` has to lead, when it leads to
 * another step; null: it stays as it is. The best one so far may be of any step.
 */
export function linkTo(link: { name: string; target: string }, { path, name, names }: PointedAt): string | null {
  if (!isLabelName(link.name) || /best/i.test(link.name) || dirname(link.target) !== dirname(path)) return null;
  const own = names ?? [name];
  const old = basename(link.target);
  if (own.includes(old)) return null;
  const same = own.find((one) => partOf(one) === partOf(old));
  return same === undefined ? null : join(dirname(path), same);
}

function textFor({ name, folder, text }: Pointer, checkpoint: PointedAt): string | null {
  if (name === TRACKERS.deepspeed) return checkpoint.name;
  if (name === TRACKERS.megatron) return String(checkpoint.step);
  if (ONE_LINE.test(name)) return lineFor({ folder, text }, checkpoint);
  return name === TENSORFLOW ? stateFor({ folder, text }, checkpoint) : null;
}

function lineFor({ folder, text }: Omit<Pointer, "name">, { path, name, step, stepFrom }: PointedAt): string | null {
  const old = text.trim();
  if (old === "" || old.includes("\n")) return null;
  if (/^\d+$/.test(old)) return stepFrom === "time" ? null : String(step);
  return dirname(old) === "." ? slashed(relative(folder, path)) : join(dirname(old), name);
}

const slashed = (path: string): string => path.replaceAll(sep, "/");

/**
 * Returns the state of a TensorFlow `CheckpointManager` or `Saver` with this checkpoint as its newest one: older checkpoints stay
 * in its list, so that rotation still removes them. Source: `tensorflow.python.checkpoint.checkpoint_management`.
 */
function stateFor({ folder, text }: Omit<Pointer, "name">, { path, name, names }: PointedAt): string | null {
  const own = (names ?? [name]).find((one) => TENSORFLOW_END.test(one))?.replace(TENSORFLOW_END, "");
  if (own === undefined || !/^\s*model_checkpoint_path:/.test(text)) return null;
  const prefix = slashed(relative(folder, join(dirname(path), own)));
  const newest = valuesOf(text, "model_checkpoint_path").map(unquoted)[0] ?? "";
  if (newest === prefix) return null;
  const all = valuesOf(text, "all_model_checkpoint_paths").map((value) => placedIn(folder, unquoted(value)));
  const timestamps = valuesOf(text, "all_model_checkpoint_timestamps");
  const number = lastNumber(prefix);
  const isOlder = (one: string): boolean => (lastNumber(one) ?? Infinity) < (number ?? -Infinity);
  const at = all.indexOf(prefix);
  const older = [...all.keys()].filter((index) => (at === -1 ? isOlder(all[index] ?? "") : index < at));
  const kept = [...older.map((index) => all[index] ?? ""), prefix];
  // Without a time for each path TensorFlow takes the present one.
  const times = timestamps.length === all.length && at !== -1 ? [...older, at].map((index) => timestamps[index]) : [];
  const preserved = valuesOf(text, "last_preserved_timestamp");
  return [
    `model_checkpoint_path: ${quoted(prefix)}`,
    ...kept.map((one) => `all_model_checkpoint_paths: ${quoted(one)}`),
    ...times.map((time) => `all_model_checkpoint_timestamps: ${time}`),
    ...preserved.map((time) => `last_preserved_timestamp: ${time}`),
    "",
  ].join("\n");
}

const valuesOf = (text: string, field: string): string[] =>
  text.split("\n").flatMap((line) => {
    const trimmed = line.trim();
    return trimmed.startsWith(`${field}:`) ? [trimmed.slice(field.length + 1).trim()] : [];
  });

const unquoted = (value: string): string => value.replace(/^(["'])(.*)\1$/, "$2").replaceAll(/\\(["'\\])/g, "$1");
const quoted = (value: string): string => `"${value.replaceAll(/["\\]/g, "\\$&")}"`;

/** Returns a path as TensorFlow writes it beside the pointer; absolute ones would lead nowhere on another machine. */
const placedIn = (folder: string, path: string): string =>
  path.startsWith(folder + sep) ? slashed(relative(folder, path)) : path;
