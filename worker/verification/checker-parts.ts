import type { NodeStore } from "#protocol/wire/hello.ts";
import type { MovingCommand } from "#protocol/wire/commands.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import type { Clock } from "../base/clock.ts";
import type { Engine } from "../transfer/engine.ts";
import type { CommandMemory } from "../hub-link/command-memory.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { Outbox } from "../hub-link/outbox.ts";

/** A command of the hub to read a checkpoint back, or to copy it between buckets. */
export type CheckCommand = Extract<MovingCommand, { kind: "verify" | "drill" | "copy" }>;

/** Parts of a checker. */
export interface CheckerParts {
  memory: CommandMemory;
  outbox: Outbox;
  hub: Hub;
  clock: Clock;
  /** The state folder: journals and scratch folders lie in it. */
  state: string;
  engine(): Engine | null;
  /** Returns the engine for the bucket of a replica; left out: there are no replicas. */
  engineAt?(store: NodeStore): Engine;
  /** Returns the engine that writes to a replica of a run; null when the run has no such replica. */
  copyTo?(run: string, profileId: string): Promise<{ engine: Engine; store: NodeStore } | null>;
  signal: AbortSignal;
  /** Returns whether a transfer of this node's own runs or waits. */
  isBusy(): boolean;
  /** Returns whether a person holds the downloads of the run. */
  isHeld(run: string): boolean;
  onStart(command: CheckCommand): void;
  onEnd(command: CheckCommand, about: { fault: FaultData | null; damage: DamageReport | null }): void;
}
