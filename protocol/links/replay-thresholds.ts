import { outcomeOf, type LinkNumbers } from "./decide-link.ts";
import { BUDGET_MS, QUORUM_MS, refusalOf, type GovernorLimits, type Refusal } from "./judge-reallocation.ts";
import type { LinkThresholds } from "./probe.ts";
import { recallOutcome, rememberedOf, type MachinePast } from "./recall-machine.ts";

/**
 * What would have become of the starts of the past had other thresholds been asked for. Each measurement that is stored is gone
 * through in the order in which it was made, by the same rules as the worker's verdict, the hub's memory of machines and the
 * governor's judgement; what these then remember is what they did in the replay. Pure, and quick enough to follow a finger.
 */

/** One measurement. Nodes, machines and profiles are numbers that stand for them. */
export interface Start {
  /** Epoch ms. */
  at: number;
  node: number;
  machine: number;
  profile: number;
  /** Its platform exchanges machines; elsewhere a rejected worker ends. */
  isRented: boolean;
  link: LinkNumbers;
}

/** A machine that had been given back before the first start. */
export interface EarlierGrant {
  at: number;
  machine: number;
}

export interface ReplaySetup {
  thresholds: LinkThresholds;
  limits: GovernorLimits;
  earlier: readonly EarlierGrant[];
}

/**
 * `accept`, `warn`: measured, and went on. `known`: its last measurement was accepted, so it was not measured. `given-back`: rejected,
 * and exchanged. `quorum`, `cooldown`, `budget`: rejected, and kept for that reason. `ends`: rejected where machines are not
 * exchanged. `away`: given back before and left out by the platform, so that another machine would have been here.
 */
export type Fate = "accept" | "warn" | "known" | "given-back" | Refusal | "ends" | "away";

/** `starts` in the order in which they happened; the answer has one fate for each. */
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
  /** Of each machine, the last time. */
  givenBack: Map<number, number>;
  /** Of each machine and profile, by `placeOf`. */
  past: Map<number, MachinePast["last"]>;
  /** Of each profile. */
  lately: Map<number, Lately>;
  grants: { machine: string; at: number }[];
}

/** One number for both: names of strings are slow to make, twenty thousand at a time. */
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

/** Who probed within `QUORUM_MS`, each machine with its last verdict, counted as time goes on. */
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
