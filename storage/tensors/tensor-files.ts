import type { StoredExtent, StoredFile } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { compileTensorPattern, type TensorPattern } from "#protocol/checkpoint/tensor-pattern.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import { isSealed } from "../encryption/open-manifest.ts";
import { isSealedFrame } from "../encryption/unseal.ts";

/** Which files of a checkpoint tensors are taken from, and which are meant by patterns. Pure. */
export interface TensorFiles {
  /** Safetensors files. */
  shards: StoredFile[];
  /** Indexes of shards. */
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

/** What is asked about; of a sealed one as it was opened. */
interface Whole {
  run: string;
  step: number;
  transform: { kind: string };
  files: readonly StoredFile[];
}

/** `only`: of these files; null: of all. @throws Fault BAD_INPUT where there is nothing that tensors can be taken from */
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

/** What patterns mean of names, and which of them meant nothing so far. */
export interface TensorChooser {
  fits(name: string): boolean;
  /** @throws Fault NOT_FOUND for a pattern that nothing fitted; `seen` is what there is. */
  requireAll(seen: Iterable<string>): void;
}

const SHOWN = 3;
const tooMuchWork = () =>
  new Fault("TOO_LARGE", {
    op: "restore",
    subject: "the patterns",
    detail: "they take too long for so many tensors; use fewer, with fewer stars and braces",
  });
/** About a second. */
const MOST_STEPS = 30_000_000;

/** @throws Fault BAD_INPUT for a pattern that cannot be read; `fits` TOO_LARGE when all of them together take too long */
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
        // Each is asked until it was met once: what nothing fits is a mistake.
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
