import type { CommandDetail } from "#protocol/wire/commands.ts";
import type { Agent } from "../agent-assemble.ts";
import type { Effect, ImmediateCommand } from "#worker/hub-link/take-command.ts";
import { previewRestore } from "../preview-restore.ts";
import { flush } from "../local-api/flush.ts";
import { steerMany } from "../local-api/steer-many.ts";
import { isUnsafe } from "#worker/upload/backlog.ts";
import { benchNow } from "./bench-now.ts";
import { drainNode } from "./drain-node.ts";
import { hold } from "./hold.ts";
import { limit } from "./limit.ts";
import { probeNow } from "./probe-now.ts";
import { reallocate } from "./reallocate.ts";

const PRIORITY = { low: -1, normal: 0, high: 1 } as const;
const telling = (detail: CommandDetail | null): Effect => ({ detail });

/** Carries out one command of the hub. Faults: those of the command. */
export async function handleCommand(agent: Agent, command: ImmediateCommand): Promise<Effect> {
  agent.reporter.handling(command);
  switch (command.kind) {
    case "cancel":
    case "pause":
    case "resume":
    case "retry":
      await steer(agent, command);
      return telling(null);
    case "hold":
      return telling(await hold(agent, "pause", command));
    case "release":
      return telling(await hold(agent, "resume", command));
    case "limit":
      return telling(await limit(agent, command));
    case "priority":
      await agent.ledger.setRank(command.run, PRIORITY[command.priority]);
      agent.uploader.wake();
      return telling(null);
    case "flush": {
      const { run, timeoutMs } = command;
      const unsafe = agent.ledger.all().filter(isUnsafe).length;
      const options = { ...(run === null ? {} : { run }), ...(timeoutMs === null ? {} : { timeoutMs }) };
      await flush(agent, options, agent.signal);
      return telling({ before: unsafe });
    }
    case "retry-uploads":
    case "cancel-uploads":
      return telling(await steerAll(agent, command));
    case "preview":
      return telling(await previewRestore(agent, command));
    case "bench":
      return telling(await benchNow(agent, command.turnId));
    case "bench-end":
      agent.turns.get(command.turnId)?.abort();
      return telling(null);
    case "probe":
      return telling(await probeNow(agent, command.id));
    case "drain":
      return telling(await drainNode(agent));
    case "stop":
      return { detail: { graceMs: command.graceMs }, afterwards: () => agent.stopWithin(command.graceMs) };
    case "reallocate":
      return reallocate(agent, command);
  }
}

async function steer(agent: Agent, command: Extract<ImmediateCommand, { transferId: string }>): Promise<void> {
  const { transferId, kind } = command;
  if (agent.ledger.byTransfer(transferId) !== undefined) await agent.uploader.steer(transferId, kind);
  else if (agent.copier.has(transferId)) await agent.copier.steer(transferId, kind);
  else if (agent.checker.has(transferId)) await agent.checker.steer(transferId, kind);
  else await agent.restorer.steer(transferId, kind);
}

/** Steers all uploads, or those of one run, like single ones. Returns how many followed. */
async function steerAll(
  agent: Agent,
  { kind, run }: Extract<ImmediateCommand, { kind: "retry-uploads" | "cancel-uploads" }>,
): Promise<CommandDetail> {
  const action = kind === "retry-uploads" ? "retry" : "cancel";
  return { ...(await steerMany(agent, { wish: action, ...(run === null ? {} : { run }) })) };
}
