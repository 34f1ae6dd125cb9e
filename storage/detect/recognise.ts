import { TRACKERS } from "#protocol/recognition/checkpoint-layouts.ts";
import type { Recognised, RecognisedRun } from "#protocol/recognition/recognise.ts";
import { commitKeyOf, judgeUnit, type SmallFiles } from "./judge.ts";
import { isOwnKey } from "./is-own-key.ts";
import { placeOf } from "./place-of.ts";
import { addToUnit, createUnit, type Room, type Unit } from "./unit.ts";

/** One object of a listing. */
export interface ListedKey {
  readonly key: string;
  readonly sizeBytes: number;
  /** Epoch ms. */
  readonly modifiedAt: number;
  /** Storage class, such as `GLACIER`; left out when unknown. */
  readonly storageClass?: string | null;
}

/** A small object whose content helps to judge checkpoints. */
export interface Wanted {
  readonly key: string;
  /** "text": the content itself. "list": an index whose file names are extracted. */
  readonly kind: "text" | "list";
}

/**
 * Collects the objects of a listing one by one, in any order, and returns the checkpoints that they form. The number of
 * checkpoints and the bytes kept for their names are limited, so memory is bounded for any listing. Pure: the caller
 * reads the objects that `wanted` names and passes their content back.
 */
export interface Recogniser {
  add(object: ListedKey): void;
  /** Returns the objects whose content helps to judge, the most helpful first. The caller may read only some of them. */
  wanted(): Wanted[];
  tellText(key: string, text: string | null): void;
  tellList(key: string, names: readonly string[]): void;
  /** Place of the checkpoint that the last object belonged to, which may be incomplete so far. */
  readonly lastPlace: string | null;
  /** Forgets a checkpoint whose listing was cut off in the middle. */
  drop(place: string): void;
  end(): Recognised;
}

const MOST_UNITS = 20_000;
const ROOM: Readonly<Room> = { shardBytes: 4 * 1024 * 1024, names: 500_000 };

/** Returns an empty recognizer. `ownPrefix` is the profile's prefix, where Tidemark's own objects lie; null when unknown. */
export function createRecogniser(ownPrefix: string | null): Recogniser {
  const units = new Map<string, Unit>();
  const texts = new Map<string, string | null>();
  const lists = new Map<string, readonly string[]>();
  const room: Room = { ...ROOM };
  let [objects, others, own, omitted] = [0, 0, 0, 0];
  let lastPlace: string | null = null;
  let lastOmitted: string | null = null;
  const isOwn = (key: string): boolean => ownPrefix !== null && isOwnKey(ownPrefix, key);
  return {
    get lastPlace() {
      return lastPlace;
    },
    add: (object) => {
      objects++;
      if (isOwn(object.key)) {
        own++;
        lastPlace = null;
        return;
      }
      const at = placeOf(object.key);
      lastPlace = at?.place ?? null;
      if (at === null || (at.relative === "" && object.sizeBytes === 0)) {
        others++;
        return;
      }
      let unit = units.get(at.place);
      if (unit === undefined) {
        if (units.size >= MOST_UNITS) {
          if (at.place !== lastOmitted) omitted++;
          lastOmitted = at.place;
          return;
        }
        unit = createUnit(at);
        units.set(at.place, unit);
      }
      const { sizeBytes, modifiedAt, storageClass = null } = object;
      addToUnit(unit, { relative: at.relative, sizeBytes, modifiedAt, storageClass }, room);
    },
    wanted: () => wantedBy(units.values()),
    tellText: (key, text) => void texts.set(key, text),
    tellList: (key, names) => void lists.set(key, names),
    drop: (place) => {
      const unit = units.get(place);
      if (unit === undefined) return;
      objects -= unit.files;
      units.delete(place);
    },
    end: () => {
      const contents: SmallFiles = { texts, lists };
      const runs = new Map<string, RecognisedRun>();
      for (const unit of foldItems(units)) {
        const step = judgeUnit(unit, contents);
        // A numbered folder without any file of a checkpoint is an archive of something else.
        if (step.framework === null && !isNamed(unit)) {
          others += unit.files;
          continue;
        }
        const run = runs.get(unit.run) ?? { place: unit.run, steps: [] };
        run.steps.push(step);
        runs.set(unit.run, run);
      }
      for (const { steps } of runs.values()) {
        steps.sort((a, b) => (b.step ?? -1) - (a.step ?? -1) || (a.place < b.place ? -1 : 1));
      }
      const sorted = [...runs.values()].sort((a, b) => (a.place < b.place ? -1 : 1));
      return { runs: sorted, objects, others, own, omitted };
    },
  };
}

/** Returns whether more than a number or a folder called `d` suggests a checkpoint: its name, or a file in it. */
const isNamed = ({ place, has, kind, orbaxFiles }: Unit): boolean =>
  kind === "file" || has.size > 0 || (orbaxFiles.size === 0 && !/(^|\/)\d+\/$/.test(place));

/** Merges items of an Orbax checkpoint without a step, which lie in folders of their own, into their checkpoint. */
function foldItems(units: ReadonlyMap<string, Unit>): Unit[] {
  const kept: Unit[] = [];
  for (const unit of units.values()) {
    const whole = unit.step === null && unit.kind === "folder" ? units.get(unit.run) : undefined;
    if (whole?.step !== null || !whole.has.has("orbaxStep")) {
      kept.push(unit);
      continue;
    }
    whole.files += unit.files;
    whole.sizeBytes += unit.sizeBytes;
    whole.newestAt = Math.max(whole.newestAt, unit.newestAt);
  }
  return kept;
}

function wantedBy(units: Iterable<Unit>): Wanted[] {
  const texts = new Set<string>();
  const lists: { key: string; newestAt: number }[] = [];
  for (const unit of units) {
    if (unit.has.has("megatron")) texts.add(unit.run + TRACKERS.megatron);
    else if (unit.has.has("deepspeed") && !unit.has.has("trainer")) texts.add(unit.run + TRACKERS.deepspeed);
    if (unit.has.has("orbaxStep") && !unit.has.has("orbaxDone")) texts.add(commitKeyOf(unit));
    for (const folder of unit.dcpMetadata)
      lists.push({ key: `${unit.place}${folder}.metadata`, newestAt: unit.newestAt });
    // Without an index every array has its own metadata, which would take too many requests.
    for (const folder of unit.orbaxTrees)
      if (unit.orbaxFiles.has(`${folder}manifest.ocdbt`))
        lists.push({ key: `${unit.place}${folder}_METADATA`, newestAt: unit.newestAt });
  }
  const newest = lists.sort((a, b) => b.newestAt - a.newestAt).map(({ key }): Wanted => ({ key, kind: "list" }));
  return [...[...texts].map((key): Wanted => ({ key, kind: "text" })), ...newest];
}
