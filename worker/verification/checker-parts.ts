import type { NodeStore } from "#protocol/wire/hello.ts";
import type { MovingCommand } from "#protocol/wire/commands.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import type { Clock } from "../base/clock.ts";
import type { Engine } from "../transfer/engine.ts";
import type { CommandMemory } from "../hub-link/command-memory.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { Outbox } from "../hub-link/outbox.ts";

/** A command of the hub to read a checkpoint back, or to copy it between homes. */
export type CheckCommand = Extract<MovingCommand, { kind: "verify" | "drill" | "copy" }>;

/** What a checker is made of. */
export interface CheckerParts {
  memory: CommandMemory;
  outbox: Outbox;
  hub: Hub;
  clock: Clock;
  /** The state folder: journals and scratch folders lie in it. */
  state: string;
  engine(): Engine | null;
  /** Of another home; left out: there are none. */
  engineAt?(store: NodeStore): Engine;
  /** To write to a home of a run; null when it is none. */
  copyTo?(run: string, profileId: string): Promise<{ engine: Engine; store: NodeStore } | null>;
  signal: AbortSignal;
  /** The node has something of its own to move. */
  isBusy(): boolean;
  /** A person said that downloads of the run wait. */
  isHeld(run: string): boolean;
  onStart(command: CheckCommand): void;
  onEnd(command: CheckCommand, about: { fault: FaultData | null; damage: DamageReport | null }): void;
}
