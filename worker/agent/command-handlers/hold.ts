import type { CommandDetail } from "#protocol/wire/commands.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { MoveDirection } from "#protocol/wire/command-shapes.ts";
import type { TransferState } from "#protocol/wire/transfer.ts";
import type { Agent } from "../agent-assemble.ts";
import { steerMany } from "../local-api/steer-many.ts";

const FROM: Readonly<Record<"pause" | "resume", readonly TransferState[]>> = {
  pause: ["waiting", "running"],
  resume: ["paused"],
};

interface Hold {
  run: RunName | null;
  direction: MoveDirection;
}

/**
 * Pauses or resumes the transfers of a run, or of all runs, and applies that to later ones too. Releasing everything
 * also ends a drain. Returns how many uploads and restores it changed. Faults: NO_SPACE, WRITE_FAILED.
 */
export async function hold(agent: Agent, action: "pause" | "resume", { run, direction }: Hold): Promise<CommandDetail> {
  const { stand } = agent;
  const moved = { uploads: 0, restores: 0 };
  if (direction !== "down") {
    moved.uploads = (await steerMany(agent, { wish: action, ...(run === null ? {} : { run }) })).uploads;
  }
  if (direction !== "up") {
    await stand.holdDown(run, action === "pause" ? "held" : "free");
    moved.restores = await steerRestores(agent, action, run);
  }
  if (action === "resume" && run === null && direction === "both") await stand.setDrained("in service");
  agent.uploader.wake();
  agent.restorer.wake();
  agent.checker.wake();
  return moved;
}

async function steerRestores({ restorer }: Agent, action: "pause" | "resume", run: RunName | null): Promise<number> {
  let restores = 0;
  for (const item of restorer.progress()) {
    if ((run !== null && item.run !== run) || !FROM[action].includes(item.state)) continue;
    try {
      await restorer.steer(item.id, action);
      restores++;
    } catch (error) {
      // The restore has ended meanwhile.
      if (!isFault(error) || (error.code !== "NOT_FOUND" && error.code !== "CONFLICT")) throw error;
    }
  }
  return restores;
}
