import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import type { ShownPlace, StepSource } from "#protocol/checkpoint/place.ts";
import { isAdopted } from "#protocol/checkpoint/adopted.ts";
import { placeWords, stepSourceOf, stepWords } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { branchWords } from "#protocol/history/passed-over.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { isSealed, openManifest } from "#storage/encryption/open-manifest.ts";
import { shownName, usage, type Verb } from "../command-line/verb.ts";
import { readRunToRestore } from "../local-api/read-run-at-step.ts";
import { choosingFrom, chooseWanted, placeOfStored } from "../standalone/choose-checkpoint.ts";
import { keyOfCheckpoint, readKeyFile } from "../standalone/key-file.ts";
import { openBucket, readTo } from "../standalone/open-standalone.ts";

const SHOWN = "tidemark inspect RUN[@STEP|@final] --to s3://bucket/prefix";
const MOST_FILES = 200;

const SOURCES = {
  name: "its name says the step",
  inside: "a file in it says the step",
  said: "the step was given when it was saved",
  time: "nothing in it says a step",
} as const;

/**
 * `tidemark inspect RUN[@STEP] --to`: one checkpoint of a bucket by its manifest: its place, from where its epoch started, and
 * its files. Faults: BAD_INPUT, NOT_FOUND, SEAL_KEY_NEEDED (names are hidden), those of the store.
 */
export async function inspectCheckpoint(
  { config, terminal, signal }: Pick<Verb, "config" | "terminal" | "signal">,
  text: string,
): Promise<number> {
  const wish = readRunToRestore(text, SHOWN);
  const to = config.text("to");
  if (to === null) throw usage("--to", `it says where it lies: ${SHOWN}`);
  const keyPath = config.text("encrypt-key");
  const keyFile = keyPath === null ? null : await readKeyFile(keyPath);
  const opened = await openBucket(config, { ...readTo(to), signal });
  try {
    const { records } = opened;
    const chosen = await chooseWanted(choosingFrom(records, await records.read(wish.run)), wish);
    if (chosen === null) {
      const detail = wish.step === undefined ? "it has no complete checkpoint" : `it has none of step ${wish.step}`;
      throw new Fault("NOT_FOUND", { op: "inspect", subject: wish.run, detail });
    }
    const stored = chosen.manifest;
    const isHidden = isSealed(stored) && stored.transform.hideNames;
    const manifest = isHidden ? openManifest(stored, keyOfCheckpoint(keyFile, stored)) : stored;
    const { run, step, writerEpoch, capturedAt, sizeBytes } = manifest;
    const place = placeOfStored(manifest);
    const facts = {
      run,
      step,
      epoch: writerEpoch,
      checkpointId: chosen.listed.checkpointId,
      place,
      stepSource: stepSourceOf(place) ?? null,
      parent: isAdopted(manifest) ? null : manifest.parent,
      branch: isAdopted(manifest) ? null : (manifest.branch ?? null),
      node: isAdopted(manifest) ? null : manifest.node.name,
      doubt: isAdopted(manifest) ? null : (manifest.doubt ?? null),
      capturedAt,
      sizeBytes,
      files: manifest.files.slice(0, MOST_FILES).map((file) => ({ path: file.path, sizeBytes: file.sizeBytes })),
      filesOmitted: Math.max(0, manifest.files.length - MOST_FILES),
    };
    terminal.result(sentencesOf(facts).join("\n"), { type: "checkpoint", ...facts });
    return 0;
  } finally {
    await opened.close();
  }
}

interface Facts {
  run: string;
  step: number;
  epoch: number;
  place: ShownPlace;
  stepSource: StepSource | null;
  parent: { epoch: number; step: number } | null;
  branch: LineBranch | null;
  node: string | null;
  doubt: string | null;
  sizeBytes: number;
  files: readonly { path: string; sizeBytes: number }[];
  filesOmitted: number;
}

function sentencesOf(facts: Facts): string[] {
  const { run, step, epoch, place, stepSource, node, doubt, sizeBytes, files, filesOmitted } = facts;
  const count = files.length + filesOmitted;
  const by = node === null ? "" : `, by ${shownName(node)}`;
  const source = stepSource === null ? "" : `; ${SOURCES[stepSource]}`;
  const root = place.root === undefined ? " in the watched folder" : "";
  return [
    `${shownName(run)} ${stepWords(step, stepSource ?? undefined)}, epoch ${epoch}${by}: ${formatBytes(sizeBytes)} in ${formatCount(count)} ${count === 1 ? "file" : "files"}`,
    `Place: ${placeWords(place)}${root}${source}`,
    `Lineage: ${lineageWords(facts)}`,
    ...(doubt === null ? [] : [`Doubtful: ${shownName(doubt)}`]),
    ...files.map((file) => `  ${formatBytes(file.sizeBytes).padStart(9)}  ${shownName(file.path)}`),
    ...(filesOmitted > 0 ? [`  and ${formatCount(filesOmitted)} more`] : []),
  ];
}

function lineageWords({ epoch, parent, branch }: Facts): string {
  if (branch !== null) return `epoch ${epoch} is a new line: ${branchWords(branch)}`;
  if (parent === null) return `the run started fresh in epoch ${epoch}`;
  return `epoch ${epoch} went on from step ${formatCount(parent.step)} of epoch ${parent.epoch}`;
}
