import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { ClaimAnswer, ClaimFrom } from "#protocol/wire/hello.ts";
import type { StepSource } from "#protocol/checkpoint/place.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import type { GroupMember } from "#protocol/checkpoint/pieces.ts";
import type { Hub } from "../hub-link/hub.ts";

/**
 * The right to write a run. A node claims an epoch once per start. After a later claim of another node the hub refuses
 * everything of the old epoch with EPOCH_OVER. This node then stops uploading the run until it is started again.
 */
export interface Run {
  readonly name: RunName;
  claim: ClaimAnswer | null;
  /** Why this node no longer writes it; null while it does. */
  over: Fault | null;
  seen: SeenStep | null;
}

/** Newest checkpoint on the disk. `at`: when it was written, epoch ms. */
interface SeenStep {
  step: number;
  at: number;
  source: StepSource | undefined;
}

export interface Runs {
  all(): readonly Run[];
  get(name: string): Run | undefined;
  /**
   * Returns the epoch that this node writes; asks the hub the first time. Faults: EPOCH_OVER, HUB_UNREACHABLE and the hub's
   * others.
   */
  epochOf(name: string): Promise<ClaimAnswer>;
  /**
   * Asks the hub again, because the newest checkpoint may be another one by now. `from`: where a person wants the run to start.
   * `start`: the start of the program, in a group of several nodes that write the run together.
   */
  askAnew(name: string, input?: { from?: ClaimFrom; start?: string }): Promise<ClaimAnswer>;
  /**
   * Opens the next epoch for a new line of training. In a group of nodes it joins the line that another node has opened
   * meanwhile. An older hub stays in the present epoch.
   */
  beginLine(name: string, branch: LineBranch): Promise<ClaimAnswer>;
  /** Joins the line that another node of the group opened after the present epoch. Returns whether there is one. */
  joinLine(name: string): Promise<boolean>;
  /** Notes the claim of an earlier line, of which captures are still sent. */
  noteEarlier(name: string, claim: ClaimAnswer): void;
  /** Returns the claim of an epoch, as far as this process knows it. */
  claimOf(name: string, epoch: number | null): ClaimAnswer | null;
  /** Ends the run at this node after the hub answered EPOCH_OVER. */
  end(name: string, fault: Fault): void;
}

export function createRuns(
  names: readonly RunName[],
  options: {
    hub: Hub;
    group?: GroupMember | null;
    onOver: (run: Run) => void;
    onClaimed?: (run: Run, claim: ClaimAnswer) => Promise<void>;
  },
): Runs {
  const runs = new Map<string, Run>(names.map((name) => [name, { name, claim: null, over: null, seen: null }]));
  const earlier = new Map<string, ClaimAnswer>();
  const end = (name: string, fault: Fault) => {
    const run = runs.get(name);
    if (run === undefined || run.over !== null) return;
    run.over = fault;
    options.onOver(run);
  };
  const runOf = (name: string): Run => {
    const run = runs.get(name) ?? { name: name as RunName, claim: null, over: null, seen: null };
    runs.set(name, run);
    if (run.over !== null) throw run.over;
    return run;
  };
  const { group = null } = options;
  const ask = async (
    name: string,
    { start, ...input }: { from?: ClaimFrom; isLine?: true; branch?: LineBranch; lineAfter?: number; start?: string },
  ): Promise<ClaimAnswer> => {
    const run = runOf(name);
    const together = group === null ? {} : { group: { ...group, ...(start !== undefined && { start }) } };
    try {
      const claim = await options.hub.ask("claimEpoch", (client, signal) =>
        client.node.claimEpoch.mutate({ run: run.name, ...input, ...together }, { signal }),
      );
      if (group !== null && claim.groupOf !== group.of) {
        const detail = "the hub is older than this worker and does not join pieces of several nodes; update it first";
        throw new Fault("PROTOCOL_MISMATCH", { op: "claimEpoch", subject: name, detail });
      }
      // The uploader and the preparation of a run may ask at the same time. The later epoch wins, whichever answer comes last.
      if (run.claim !== null && claim.epoch < run.claim.epoch) return run.claim;
      if (claim.epoch > (run.claim?.epoch ?? 0)) run.over = null;
      run.claim = claim;
      await options.onClaimed?.(run, claim);
      return claim;
    } catch (error) {
      if (isFault(error) && error.code === "EPOCH_OVER" && input.lineAfter === undefined) end(name, error);
      throw error;
    }
  };
  const askAnew: Runs["askAnew"] = (name, input = {}) => ask(name, input);
  return {
    beginLine: (name, branch) => ask(name, { isLine: true, branch }),
    joinLine: async (name) => {
      const lineAfter = runs.get(name)?.claim?.epoch;
      if (group === null || lineAfter === undefined) return false;
      try {
        return (await ask(name, { lineAfter })).epoch > lineAfter;
      } catch (error) {
        if (isFault(error) && error.code === "EPOCH_OVER") return false;
        throw error;
      }
    },
    all: () => [...runs.values()],
    get: (name) => runs.get(name),
    noteEarlier: (name, claim) => void earlier.set(`${name} ${claim.epoch}`, claim),
    claimOf: (name, epoch) => {
      const claim = runs.get(name)?.claim ?? null;
      return claim?.epoch === epoch ? claim : (earlier.get(`${name} ${epoch}`) ?? null);
    },
    end,
    epochOf: async (name) => runOf(name).claim ?? (await askAnew(name)),
    askAnew,
  };
}
