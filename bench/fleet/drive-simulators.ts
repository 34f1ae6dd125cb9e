import { z } from "zod";
import { type RunningProcess, startProcess } from "#e2e/stage/start-process.ts";
import type { Said } from "./simulate.ts";

/** The processes that simulate nodes, and everything that their nodes reported. */
export interface Simulators {
  /** Resolves when every node holds its stream. */
  ready: Promise<void>;
  /** Ends of transfers that the hub acknowledged. */
  acknowledged: Set<string>;
  /** By command: when it first reached its node, epoch ms, and how often the node executed it. */
  commands: Map<string, { at: number; executed: number }>;
  /** When each hello was answered, epoch ms. */
  hellos: number[];
  /** By number that the watched node reported: when it was sent. */
  marks: Map<number, number>;
  refused: string[];
  stop: () => Promise<void>;
}

export interface Fleet {
  url: string;
  token: string;
  nodes: number;
  everyMs: number;
  intervalMs: number;
  processes: number;
  /** Seed of the nodes that fill-hub wrote; absent: the nodes enroll and hold streams. */
  seed?: string;
  under: readonly string[];
}

const said = z.discriminatedUnion("said", [
  z.object({ said: z.literal("ready"), nodes: z.number() }),
  z.object({ said: z.literal("command"), id: z.string(), kind: z.string(), at: z.number(), again: z.boolean() }),
  z.object({ said: z.literal("hello"), at: z.number(), node: z.number() }),
  z.object({ said: z.literal("acknowledged"), transfers: z.array(z.string()) }),
  z.object({ said: z.literal("refused"), what: z.string() }),
  z.object({ said: z.literal("mark"), node: z.number(), value: z.number(), at: z.number() }),
]) satisfies z.ZodType<Said>;

/** Starts the fleet in a few processes; nodes are spread evenly over them. */
export async function driveSimulators(fleet: Fleet): Promise<Simulators> {
  const all: Omit<Simulators, "ready" | "stop"> = {
    acknowledged: new Set(),
    commands: new Map(),
    hellos: [],
    marks: new Map(),
    refused: [],
  };
  let readyNodes = 0;
  let done: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    done = resolve;
  });
  const hear = (line: string): void => {
    if (!line.startsWith("{")) {
      all.refused.push(line);
      return;
    }
    const what = said.parse(JSON.parse(line));
    switch (what.said) {
      case "ready":
        readyNodes += what.nodes;
        if (readyNodes >= fleet.nodes) done();
        return;
      case "command": {
        const before = all.commands.get(what.id);
        all.commands.set(what.id, {
          at: before?.at ?? what.at,
          executed: (before?.executed ?? 0) + (what.again ? 0 : 1),
        });
        return;
      }
      case "hello":
        all.hellos.push(what.at);
        return;
      case "acknowledged":
        for (const transfer of what.transfers) all.acknowledged.add(transfer);
        return;
      case "refused":
        all.refused.push(what.what);
        return;
      case "mark":
        all.marks.set(what.value, what.at);
    }
  };
  const running: RunningProcess[] = [];
  const each = Math.ceil(fleet.nodes / fleet.processes);
  for (let first = 0; first < fleet.nodes; first += each) {
    const { url, token, everyMs, intervalMs } = fleet;
    const count = Math.min(each, fleet.nodes - first);
    const orders = { url, token, first, count, everyMs, intervalMs, seed: fleet.seed ?? null };
    const process = await startProcess({
      title: "simulator",
      entry: "bench/fleet/simulate.ts",
      args: [JSON.stringify(orders)],
      under: fleet.under,
      onLine: hear,
    });
    running.push(process);
  }
  return {
    ...all,
    ready,
    stop: async () => {
      await Promise.all(running.map((one) => one.stop("SIGKILL")));
    },
  };
}
