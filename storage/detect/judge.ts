import { lastNumber, SEEN, TRACKERS } from "#protocol/recognition/checkpoint-layouts.ts";
import type { RecognisedStep, Verdict } from "#protocol/recognition/recognise.ts";
import { parseJson } from "../inspect/parse-json.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import { hasShard, type Unit } from "./unit.ts";

/** Contents of the small files that were read. Keys that were not read are absent; keys that do not exist are null. */
export interface SmallFiles {
  /** Texts by key: tracker files and Orbax's commit metadata. */
  readonly texts: ReadonlyMap<string, string | null>;
  /** Names of the data files that a `.metadata` or a `_METADATA` lists, by its key. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
}

interface Judgement {
  framework: string | null;
  verdict: Verdict;
  reason: string;
  isWeightsOnly?: true;
}

const complete = (framework: string | null, reason: string): Judgement => ({
  framework,
  verdict: "assumed complete",
  reason,
});
const incomplete = (framework: string | null, reason: string): Judgement => ({
  framework,
  verdict: "incomplete",
  reason,
});
const unknown = (framework: string | null, reason: string): Judgement => ({ framework, verdict: "unknown", reason });

export function judgeUnit(unit: Unit, contents: SmallFiles): RecognisedStep {
  const { place, kind, step, files, sizeBytes, newestAt } = unit;
  return {
    place,
    kind,
    step,
    files,
    sizeBytes,
    newestAt,
    ...(findFlaw(unit, contents) ?? findArchived(unit) ?? judgeWhole(unit, contents)),
  };
}

/** Returns whether the Transformers Trainer wrote it: by the Trainer's own files, or by its folder name beside an optimizer. */
const isTrainers = ({ has, place }: Unit): boolean =>
  has.has("trainer") || (has.has("optimizer") && /(^|\/)checkpoint-\d+\/$/.test(place));

const frameworkOf = (unit: Unit): string | null => {
  const { has, shards, place } = unit;
  if (has.has("megatron")) return "megatron";
  if (isTrainers(unit)) return "transformers";
  if (has.has("deepspeed")) return "deepspeed";
  if (has.has("dcp")) return "torch-dcp";
  if (has.has("orbax") || has.has("orbaxData") || /\.orbax-checkpoint-tmp/.test(place)) return "orbax";
  if (has.has("lightning") || /(^|\/)epoch=\d+-step=\d+/.test(place)) return "lightning";
  if (has.has("accelerate")) return "accelerate";
  if (/\.gguf$/i.test(place)) return "gguf";
  if (shards.size > 0 || has.has("index") || /\.safetensors$/i.test(place)) return "safetensors";
  if (/\.(pt|pth|ckpt)$/i.test(place)) return "torch";
  return /\.npz$/i.test(place) ? "numpy" : null;
};

/** Returns a verdict of "unknown" for archived objects. A listing does not show whether an archived object has been restored. */
const findArchived = (unit: Unit): Judgement | null =>
  unit.archived === null
    ? null
    : unknown(frameworkOf(unit), `${visibleStart(unit.archived, 300)}: restore it first where it is stored`);

/** Returns why the checkpoint is certainly incomplete, for any framework; null when no flaw is found. */
function findFlaw(unit: Unit, contents: SmallFiles): Judgement | null {
  const framework = frameworkOf(unit);
  if (/\.orbax-checkpoint-tmp/.test(unit.place))
    return incomplete(framework, "its folder was never renamed to its final name");
  if (unit.half !== null) return incomplete(framework, `${visibleStart(unit.half, 200)} is half written`);
  if (unit.empty !== null) return incomplete(framework, `${visibleStart(unit.empty, 200)} is empty`);
  for (const { shard, seen, count } of unit.shards.values()) {
    if (count === shard.count) continue;
    let number = 1;
    while (number < shard.count && hasShard({ seen }, number)) number++;
    const more = shard.count - count > 1 ? `, and ${shard.count - count - 1} more` : "";
    return incomplete(
      framework,
      `missing shard ${number} of ${shard.count} (${visibleStart(shard.nameOf(number), 200)})${more}`,
    );
  }
  const lacking = [...unit.dcpData].find((folder) => !unit.dcpMetadata.has(folder));
  if (lacking !== undefined)
    return incomplete(framework, `${visibleStart(lacking, 200)}.metadata is missing, which is written last`);
  const listed = findUnlisted(unit, contents);
  if (listed !== null) return incomplete(framework, `${visibleStart(listed, 200)} is missing, which .metadata lists`);
  const orbax = findOrbaxFlaw(unit, contents);
  if (orbax !== null) return incomplete(framework, orbax);
  const gap = findGap(unit.ranks);
  return gap === null || unit.isBlurred
    ? null
    : incomplete(framework, `the piece of rank ${gap} is missing, while later ranks have theirs`);
}

function findUnlisted(unit: Unit, contents: SmallFiles): string | null {
  if (unit.isBlurred) return null;
  for (const folder of unit.dcpMetadata) {
    const names = contents.lists.get(`${unit.place}${folder}.metadata`) ?? [];
    const missing = names.find((name) => !unit.dcpFiles.has(folder + name));
    if (missing !== undefined) return folder + missing;
  }
  return null;
}

function findOrbaxFlaw(unit: Unit, contents: SmallFiles): string | null {
  if (unit.isOrbaxBlurred) return null;
  const bare = [...unit.orbaxItems].find((folder) => !unit.orbaxTrees.has(folder));
  if (bare !== undefined) return `${visibleStart(bare, 200)}_METADATA is missing`;
  for (const folder of unit.orbaxTrees) {
    const names = contents.lists.get(`${unit.place}${folder}_METADATA`) ?? [];
    const missing = names.find((name) => SEEN.orbaxNamed.test(name) && !unit.orbaxFiles.has(folder + name));
    if (missing !== undefined) return `${visibleStart(folder + missing, 200)} is missing, which its index names`;
  }
  return null;
}

/** Returns the smallest missing rank below the highest; null when there is no gap. */
function findGap(ranks: ReadonlySet<number>): number | null {
  let most = -1;
  for (const rank of ranks) most = Math.max(most, rank);
  for (let rank = 0; rank < most; rank++) if (!ranks.has(rank)) return rank;
  return null;
}

const shardCount = (unit: Unit): number => [...unit.shards.values()].reduce((sum, { shard }) => sum + shard.count, 0);

/** Judges a checkpoint without a visible flaw by what proves that it is complete. */
function judgeWhole(unit: Unit, contents: SmallFiles): Judgement {
  const framework = frameworkOf(unit);
  const { has } = unit;
  if (unit.isBlurred) return unknown(framework, "it has more files than are remembered");
  if (has.has("done")) return complete(framework, "a file that says nothing else says that it is done");
  if (has.has("megatron")) return judgeTracked(unit, { framework, contents, tracker: TRACKERS.megatron });
  if (isTrainers(unit)) return judgeTrainer(unit);
  if (has.has("deepspeed")) return judgeTracked(unit, { framework, contents, tracker: TRACKERS.deepspeed });
  if (has.has("dcp")) {
    const isListed = [...unit.dcpMetadata].every((folder) => contents.lists.has(`${unit.place}${folder}.metadata`));
    return complete(
      framework,
      isListed
        ? "every file that its .metadata lists is there"
        : "its .metadata is there, which is written last; what it lists was not compared",
    );
  }
  if (framework === "orbax") return judgeOrbax(unit, contents);
  if (unit.shards.size > 0) return complete(framework, `all ${shardCount(unit)} shards are there`);
  if (has.has("index") && !has.has("weights"))
    return incomplete(framework, "its index names shards, and none of them is there");
  if (unit.kind === "file")
    return complete(
      framework,
      "it is one object, which a store has whole or not at all; whether the file was whole shows inside",
    );
  if (has.has("weights")) return unknown(framework, "its weights are there; nothing says what else belongs to it");
  return unknown(framework, "nothing in it tells whether it is whole");
}

/** Returns the key at which Orbax marks a whole step: its `_CHECKPOINT_METADATA`. */
export const commitKeyOf = ({ place }: Pick<Unit, "place">): string => `${place}_CHECKPOINT_METADATA`;

/** Judges an Orbax checkpoint. A commit of single items does not prove that the whole step was committed. */
function judgeOrbax(unit: Unit, contents: SmallFiles): Judgement {
  const { has, place, orbaxTrees } = unit;
  const isCompared =
    !unit.isOrbaxBlurred && [...orbaxTrees].every((folder) => contents.lists.has(`${place}${folder}_METADATA`));
  const rest =
    isCompared && orbaxTrees.size > 0
      ? "and so is every file that its index names"
      : "what its index names was not compared";
  if (has.has("orbaxDone")) return complete("orbax", `its commit file is there, which is written last; ${rest}`);
  if (has.has("orbaxStep")) {
    const text = contents.texts.get(commitKeyOf(unit));
    const commit = text === undefined || text === null ? "unsaid" : commitIn(text);
    if (commit === "not yet")
      return incomplete("orbax", "it says itself that it was not committed, and has no commit file");
    if (commit === "committed") return complete("orbax", `it says itself when it was committed; ${rest}`);
    return unknown("orbax", "it has no commit file, and its _CHECKPOINT_METADATA was not read");
  }
  if (has.has("orbax")) return unknown("orbax", "what is in it was committed; nothing says whether that is all of it");
  return unknown("orbax", "it has no commit file; some stores and versions of Orbax make none");
}

/** Reads the commit state. `commit_timestamp_nsecs` is null until everything was written. */
function commitIn(text: string): "committed" | "not yet" | "unsaid" {
  try {
    const parsed: unknown = parseJson(Buffer.from(text));
    if (typeof parsed !== "object" || parsed === null || !("commit_timestamp_nsecs" in parsed)) return "unsaid";
    return parsed.commit_timestamp_nsecs === null ? "not yet" : "committed";
  } catch {
    return "unsaid";
  }
}

function judgeTrainer(unit: Unit): Judgement {
  const { has, shards } = unit;
  const framework = "transformers";
  if (!has.has("trainerState"))
    return incomplete(framework, "trainer_state.json is missing, which is written after weights and optimizer");
  const hasWeights = has.has("weights") || shards.size > 0 || has.has("deepspeed") || has.has("dcp");
  if (!hasWeights) return incomplete(framework, "no weights are there");
  const all = shards.size > 0 ? `all ${shardCount(unit)} shards` : "weights";
  if (!has.has("optimizer") && !has.has("deepspeed")) {
    return {
      ...complete(framework, `weights only: ${all} and trainer_state.json are there, and no optimizer`),
      isWeightsOnly: true,
    };
  }
  return complete(framework, `${all}, optimizer and trainer_state.json are there`);
}

/** Judges by the tracker file beside the checkpoints, which names the newest finished step. */
function judgeTracked(
  unit: Unit,
  about: { framework: string | null; contents: SmallFiles; tracker: string },
): Judgement {
  const { framework, contents, tracker } = about;
  const text = contents.texts.get(unit.run + tracker);
  if (text === undefined) return unknown(framework, `${tracker} beside it was not read`);
  if (text === null)
    return unknown(framework, `there is no ${tracker} beside it, which would name the newest finished one`);
  const step = lastNumber(text.trim());
  if (step === null) return unknown(framework, `${tracker} beside it names no step`);
  if (unit.step !== null && step < unit.step)
    return incomplete(framework, `${tracker} names step ${step}, an earlier one: this one was not finished`);
  return complete(framework, `${tracker} names step ${step}`);
}
