import type { StoredExtent, StoredFile } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { compileTensorPattern, type TensorPattern } from "#protocol/checkpoint/tensor-pattern.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import { isSealed } from "../encryption/open-manifest.ts";
import { isSealedFrame } from "../encryption/unseal.ts";

/** The files of a checkpoint from which tensors are taken. */
export interface TensorFiles {
  /** Safetensors files. */
  shards: StoredFile[];
  /** Shard indexes. */
  indexes: StoredFile[];
}

const SHARD = /\.safetensors$/i;
const INDEX = /\.safetensors\.index\.json$/i;
const OTHERS: readonly [RegExp, string][] = [
  [
    /\.(?:pt|pth|ckpt|bin)$/i,
    "is a PyTorch file, whose tensors are put together by a program inside it that is never run",
  ],
  [
    /(?:\.distcp|(?:^|\/)\.metadata)$/i,
    "belongs to PyTorch DCP, whose tensors lie in pieces in the files of several ranks",
  ],
  [/\.gguf$/i, "is a GGUF file, of which only whole files are restored"],
  [/\.np[yz]$/i, "is a numpy file, of which only whole files are restored"],
];

const refuse = (subject: string, detail: string) => new Fault("BAD_INPUT", { op: "restore", subject, detail });
const WHOLE = "restore whole files in place of tensors";

/** The parts of a manifest that are needed; a sealed manifest must be opened first. */
interface Whole {
  run: string;
  step: number;
  transform: { kind: string };
  files: readonly StoredFile[];
}

/** Returns the tensor files, of these paths only if given. @throws Fault BAD_INPUT when no file allows tensor selection */
export function tensorFiles(manifest: Whole, only: readonly string[] | null): TensorFiles {
  const { run, step } = manifest;
  const of = `step ${step} of ${run}`;
  const names = only === null ? null : new Set(only);
  const files = names === null ? manifest.files : manifest.files.filter(({ path }) => names.has(path));
  const shards = files.filter(({ path }) => SHARD.test(path));
  const indexes = files.filter(({ path }) => INDEX.test(path));
  if (shards.length === 0) {
    for (const { path } of files) {
      const [, why] = OTHERS.find(([pattern]) => pattern.test(path)) ?? [];
      if (why !== undefined) throw refuse(path, `it ${why}; tensors are taken from safetensors files only: ${WHOLE}`);
    }
    throw refuse(of, `none of ${only === null ? "its" : "these"} files is a safetensors file; ${WHOLE}`);
  }
  const isFrame = isSealed(manifest) ? isSealedFrame : ({ stored }: StoredExtent) => stored !== undefined;
  const framed = shards.find(({ extents }) => extents.some(isFrame));
  if (framed !== undefined) throw refuse(framed.path, `it lies compressed in a pack; ${WHOLE}`);
  return { shards, indexes };
}

/** Matches tensor names against patterns and tracks which patterns matched nothing. */
export interface TensorChooser {
  fits(name: string): boolean;
  /** Requires that every pattern matched. `seen`: the present names. @throws Fault NOT_FOUND */
  requireAll(seen: Iterable<string>): void;
}

const SHOWN = 3;
const tooMuchWork = () =>
  new Fault("TOO_LARGE", {
    op: "restore",
    subject: "the patterns",
    detail: "they take too long for so many tensors; use fewer, with fewer stars and braces",
  });
/** Limit of matching steps, which take about a second. */
const MOST_STEPS = 30_000_000;

/** Compiles the patterns. @throws Fault BAD_INPUT for an invalid one. `fits` throws TOO_LARGE when matching takes too long. */
export function createTensorChooser(patterns: readonly string[]): TensorChooser {
  const effort = { left: MOST_STEPS };
  const compiled = patterns.map((text): { text: string; pattern: TensorPattern; isMet: boolean } => {
    const pattern = compileTensorPattern(text);
    if ("reason" in pattern) throw refuse(text, pattern.reason);
    return { text, pattern, isMet: false };
  });
  return {
    fits: (name) => {
      let isFit = false;
      for (const one of compiled) {
        // Every pattern is tried until it has matched once, because a pattern without a match is reported as a mistake.
        if (isFit && one.isMet) continue;
        const isMatch = one.pattern.matches(name, effort);
        if (effort.left < 0) throw tooMuchWork();
        if (!isMatch) continue;
        one.isMet = true;
        isFit = true;
      }
      return isFit;
    },
    requireAll: (seen) => {
      const unmet = compiled.find(({ isMet }) => !isMet);
      if (unmet === undefined) return;
      const some: string[] = [];
      for (const name of seen) {
        if (some.length === SHOWN) break;
        some.push(visibleStart(name, 100));
      }
      const there =
        some.length === 0
          ? "there are none"
          : `there are ${some.join(", ")}${some.length === SHOWN ? " and others" : ""}`;
      throw new Fault("NOT_FOUND", { op: "restore", subject: unmet.text, detail: `no tensor fits it; ${there}` });
    },
  };
}
