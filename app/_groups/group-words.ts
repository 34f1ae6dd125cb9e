import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { InstanceStake } from "#protocol/groups/deletion-cost.ts";
import type { GroupState, InstanceAction, InstanceState } from "#protocol/groups/groups.ts";
import type { NodeState } from "#protocol/wire/views.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";

/** Words and tones of groups and instances. */

export const GROUP_TONES: Readonly<Record<GroupState, Tone>> = {
  pending: "moving",
  running: "safe",
  stopped: "quiet",
  succeeded: "quiet",
  failed: "lost",
  deploying: "moving",
  unknown: "quiet",
};

export const INSTANCE_TONES: Readonly<Record<InstanceState, Tone>> = {
  allocating: "moving",
  downloading: "moving",
  creating: "moving",
  running: "safe",
  stopping: "quiet",
  unknown: "quiet",
};

export const NODE_TONES: Readonly<Record<NodeState, Tone>> = {
  online: "safe",
  unconfirmed: "risk",
  silent: "lost",
  offline: "quiet",
  revoked: "quiet",
};

export const ACTION_WORDS: Readonly<
  Record<InstanceAction, { verb: string; busy: string; done: string; effect: string }>
> = {
  reallocate: {
    verb: "Reallocate",
    busy: "Reallocating",
    done: "reallocated",
    effect: "The provider moves it to another machine. Its disk stays behind.",
  },
  recreate: {
    verb: "Recreate",
    busy: "Recreating",
    done: "recreated",
    effect: "The provider creates the container again on the same machine. Its disk is emptied.",
  },
  restart: {
    verb: "Restart",
    busy: "Restarting",
    done: "restarted",
    effect: "The provider starts the same container again. Its program begins at the newest checkpoint.",
  },
};

export const instancesWords = (count: number): string =>
  count === 1 ? "1 instance" : `${formatCount(count)} instances`;

const countWords = (count: number, one: string, many: string): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** Says what would be lost with an instance; null: nothing. */
export function lossWords({ checkpoints, lossMs, unverified }: InstanceStake): string | null {
  const parts = [
    ...(checkpoints > 0
      ? [countWords(checkpoints, "checkpoint that is not safe", "checkpoints that are not safe")]
      : []),
    ...(lossMs > 0 ? [`${formatDuration(lossMs)} of training`] : []),
    ...(unverified > 0
      ? [countWords(unverified, "job whose data is not verified", "jobs whose data is not verified")]
      : []),
  ];
  return parts.length === 0 ? null : parts.join(", ");
}

/** Says what an instance works on and what would be lost with it. */
export function stakeWords(stake: InstanceStake): string {
  const jobs = stake.leases === 0 ? "no job" : countWords(stake.leases, "job", "jobs");
  const loss = lossWords(stake);
  return loss === null ? `${jobs}, nothing to lose` : `${jobs}, ${loss}`;
}
