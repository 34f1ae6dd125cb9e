import type { CommandDetail } from "#protocol/wire/commands.ts";
import type { Agent } from "../agent-assemble.ts";
import type { Effect, Order } from "#worker/hub-link/take-command.ts";
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
export async function handleCommand(agent: Agent, order: Order): Promise<Effect> {
  agent.reporter.handling(order);
  switch (order.kind) {
    case "cancel":
    case "pause":
    case "resume":
    case "retry":
      await steer(agent, order);
      return telling(null);
    case "hold":
      return telling(await hold(agent, "pause", order));
    case "release":
      return telling(await hold(agent, "resume", order));
    case "limit":
      return telling(await limit(agent, order));
    case "priority":
      await agent.ledger.setRank(order.run, PRIORITY[order.priority]);
      agent.uploader.wake();
      return telling(null);
    case "flush": {
      const { run, timeoutMs } = order;
      const unsafe = agent.ledger.all().filter(isUnsafe).length;
      const options = { ...(run === null ? {} : { run }), ...(timeoutMs === null ? {} : { timeoutMs }) };
      await flush(agent, options, agent.signal);
      return telling({ before: unsafe });
    }
    case "retry-uploads":
    case "cancel-uploads":
      return telling(await steerAll(agent, order));
    case "preview":
      return telling(await previewRestore(agent, order));
    case "bench":
      return telling(await benchNow(agent, order.turnId));
    case "bench-end":
      agent.turns.get(order.turnId)?.abort();
      return telling(null);
    case "probe":
      return telling(await probeNow(agent, order.id));
    case "drain":
      return telling(await drainNode(agent));
    case "stop":
      return { detail: { graceMs: order.graceMs }, afterwards: () => agent.stopWithin(order.graceMs) };
    case "reallocate":
      return reallocate(agent, order);
  }
}

async function steer(agent: Agent, order: Extract<Order, { transferId: string }>): Promise<void> {
  const { transferId, kind } = order;
  if (agent.ledger.byTransfer(transferId) !== undefined) await agent.uploader.steer(transferId, kind);
  else if (agent.copier.has(transferId)) await agent.copier.steer(transferId, kind);
  else if (agent.checker.has(transferId)) await agent.checker.steer(transferId, kind);
  else await agent.restorer.steer(transferId, kind);
}

/** Steers all uploads, or those of one run, like single ones. Returns how many followed. */
async function steerAll(
  agent: Agent,
  { kind, run }: Extract<Order, { kind: "retry-uploads" | "cancel-uploads" }>,
): Promise<CommandDetail> {
  const wish = kind === "retry-uploads" ? "retry" : "cancel";
  return { ...(await steerMany(agent, { wish, ...(run === null ? {} : { run }) })) };
}
