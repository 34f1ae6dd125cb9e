import { tmpdir } from "node:os";
import type { CommandDetail } from "#protocol/wire/commands.ts";
import type { EngineName } from "#protocol/benchmarks/engines.ts";
import type { BenchJob } from "#protocol/benchmarks/turn.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Agent } from "../agent-assemble.ts";
import { askTurn, runTurn, type Looked, type TurnTaker } from "#worker/benchmarks/hub-turn.ts";
import type { Found } from "#worker/engines/driver.ts";
import { DRIVERS } from "#worker/engines/drivers.ts";

/**
 * Runs this node's turn of a benchmark. `shared` says whether other transfers used the link meanwhile. Faults: CANCELLED when
 * the hub ended the turn, those of the hub, those of the store before the first case.
 */
export async function benchNow(agent: Agent, turnId: string): Promise<CommandDetail> {
  const { hub, uploader, restorer, options, secret } = agent;
  const own = new AbortController();
  const signal = AbortSignal.any([own.signal, agent.signal]);
  agent.turns.set(turnId, own);
  const isBusy = () => uploader.active !== null || restorer.progress().some(({ state }) => state === "running");
  const taker: TurnTaker = { hub, base: options.hub, secret: () => secret() };
  try {
    const asked = await askTurn(taker, turnId, signal);
    const wasBusy = isBusy();
    const looked = await findEngines(agent, asked.job);
    const ends = await runTurn(taker, { ...asked, looked, scratchParent: tmpdir(), signal });
    const failed = ends.filter(({ fault }) => fault !== null).length;
    return { cases: ends.length, failed, shared: wasBusy || isBusy() };
  } catch (error) {
    if (own.signal.aborted) throw new Fault("CANCELLED", { op: "bench" });
    throw error;
  } finally {
    agent.turns.delete(turnId);
  }
}

async function findEngines(agent: Agent, job: BenchJob): Promise<Looked> {
  const names = new Set(job.cases.map(({ engine }) => engine));
  const looked = new Map<EngineName, Found>();
  for (const name of names) looked.set(name, await DRIVERS[name].find(agent.engines));
  return looked;
}
