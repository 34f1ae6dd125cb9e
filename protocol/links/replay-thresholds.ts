import { outcomeOf, type LinkNumbers } from "./decide-link.ts";
import { BUDGET_MS, QUORUM_MS, refusalOf, type ReallocationLimits, type Refusal } from "./judge-reallocation.ts";
import type { LinkThresholds } from "./probe.ts";
import { recallOutcome, rememberedOf, type MachinePast } from "./recall-machine.ts";

/**
 * Replays past starts of nodes with other thresholds. It goes through the stored measurements in order and applies the rules
 * of the worker's verdict, of the memory of machines, and of reallocation. The memory holds what happened in the replay, not
 * in the past. Pure, and fast enough to follow a slider.
 */

/** One measurement. Small numbers stand for nodes, machines and profiles. */
export interface Start {
  /** Epoch ms. */
  at: number;
  node: number;
  machine: number;
  profile: number;
  /** Whether its platform exchanges machines; elsewhere a rejected worker ends. */
  isRented: boolean;
  link: LinkNumbers;
}

/** A machine that was given back before the first start. */
export interface EarlierGrant {
  at: number;
  machine: number;
}

export interface ReplaySetup {
  thresholds: LinkThresholds;
  limits: ReallocationLimits;
  earlier: readonly EarlierGrant[];
}

/**
 * `accept`, `warn`: measured, and continued. `known`: not measured, because the last measurement was accepted. `given-back`:
 * rejected and exchanged. `quorum`, `cooldown`, `budget`: rejected, and kept for that reason. `ends`: rejected where
 * machines are not exchanged. `away`: given back earlier and excluded by the platform, so another machine would have started
 * instead.
 */
export type Fate = "accept" | "warn" | "known" | "given-back" | Refusal | "ends" | "away";

/** Returns one fate for each of `starts`, which are in order of time. */
export function replayStarts(starts: readonly Start[], setup: ReplaySetup): Fate[] {
  const { limits } = setup;
  const world: World = {
    setup,
    givenBack: new Map(setup.earlier.map(({ machine, at }) => [machine, at])),
    past: new Map(),
    lately: new Map(),
    grants: setup.earlier.map(({ machine, at }) => ({ machine: String(machine), at })),
  };
  return starts.map((start) => {
    const goneAt = world.givenBack.get(start.machine);
    if (goneAt !== undefined && start.at - goneAt < limits.excludeMs) return "away";
    return fateOf(start, world);
  });
}

interface World {
  setup: ReplaySetup;
  /** Last time at which each machine was given back. */
  givenBack: Map<number, number>;
  /** Last probe of each machine and profile, by `placeOf`. */
  past: Map<number, MachinePast["last"]>;
  /** Recent probes of each profile. */
  lately: Map<number, Lately>;
  grants: { machine: string; at: number }[];
}

/** Combines both in one number: building twenty thousand text keys would be slow. */
const placeOf = ({ machine, profile }: Start): number => machine * 65_536 + profile;

function fateOf(start: Start, world: World): Fate {
  const { thresholds, limits } = world.setup;
  const { at, link, machine } = start;
  const place = placeOf(start);
  const last = world.past.get(place) ?? null;
  const memory = last === null ? null : rememberedOf({ granted: null, last }, { limits, now: at });
  if (memory?.verdict === "good" && recallOutcome(memory, thresholds) === "accept") return "known";
  const outcome = outcomeOf(link, thresholds);
  const { up, down, rttMs } = link;
  world.past.set(place, { at, up, down, rttMs, outcome });
  const lately = world.lately.get(start.profile) ?? createLately();
  world.lately.set(start.profile, lately);
  lately.add({ at, machine, isRejected: outcome === "reject" });
  if (outcome !== "reject") return outcome;
  if (!start.isRented) return "ends";
  const memoryMs = Math.max(BUDGET_MS, limits.cooldownMs);
  world.grants = world.grants.filter((grant) => at - grant.at < memoryMs);
  const givenBackAt = world.givenBack.get(machine) ?? null;
  const asked = { now: at, machine: String(machine), probed: lately.count(at), grants: world.grants, givenBackAt };
  const refusal = refusalOf(asked, limits);
  if (refusal !== null) return refusal;
  world.grants.push({ machine: String(machine), at });
  world.givenBack.set(machine, at);
  return "given-back";
}

interface Lately {
  add(probe: Probed): void;
  count(now: number): { machines: number; rejected: number };
}
interface Probed {
  at: number;
  machine: number;
  isRejected: boolean;
}

/** Counts the machines that probed within `QUORUM_MS`, each by its last verdict, as time advances. */
function createLately(): Lately {
  let queue: Probed[] = [];
  let head = 0;
  let rejected = 0;
  const last = new Map<number, Probed>();
  const forget = (now: number): void => {
    for (let oldest = queue[head]; oldest !== undefined && now - oldest.at >= QUORUM_MS; oldest = queue[head]) {
      head++;
      if (last.get(oldest.machine) !== oldest) continue;
      last.delete(oldest.machine);
      if (oldest.isRejected) rejected--;
    }
    if (head < 1024) return;
    queue = queue.slice(head);
    head = 0;
  };
  return {
    add: (probe) => {
      forget(probe.at);
      if (last.get(probe.machine)?.isRejected === true) rejected--;
      if (probe.isRejected) rejected++;
      last.set(probe.machine, probe);
      queue.push(probe);
    },
    count: (now) => {
      forget(now);
      return { machines: last.size, rejected };
    },
  };
}
