import { fillHub } from "#e2e/stage/fill-hub.ts";
import type { Stage } from "#e2e/stage/open-stage.ts";
import { waitComplete } from "#e2e/stage/wait-complete.ts";
import { writeCheckpoint } from "#e2e/stage/write-checkpoint.ts";
import { runName } from "#protocol/base/names.ts";
import { driveSimulators } from "../fleet/drive-simulators.ts";

/** Starts a simulated fleet, and one real node with a safe checkpoint. Resolves when all nodes have reported. */
export async function streamFleet(stage: Stage, { nodes, everySeconds }: { nodes: number; everySeconds: number }) {
  const run = runName.parse("real");
  await stage.startNode({ name: "real-1", run });
  writeCheckpoint({ folder: stage.folderOf("real-1"), step: 1, modelBytes: 1024, optimizerBytes: 0, loss: 1 });
  const checkpoint = await waitComplete(stage, run);
  const seed = "bench";
  await fillHub(stage, { seed, nodes });
  const simulators = await driveSimulators({
    url: stage.hub.url,
    token: "",
    seed,
    nodes,
    everyMs: everySeconds * 1000,
    intervalMs: 600_000,
    processes: 1,
    under: [],
  });
  await simulators.ready;
  return { checkpoint, simulators };
}
