import { Socket } from "node:net";
import { join } from "node:path";
import type { Machine } from "../../agent/agent-assemble.ts";
import { stateOfWorker } from "../../agent/agent.ts";
import { readRoom } from "../../base/room.ts";
import type { Environment } from "../../base/environment.ts";
import type { Config } from "../../command-line/config.ts";
import type { Terminal } from "../../command-line/terminal.ts";
import { usage } from "../../command-line/command-context.ts";
import { requestedName } from "../../host/facts.ts";
import { stateFolder } from "../../host/state-folder.ts";
import type { WorkCommand } from "../work-command.ts";

/** One of the slots of `tidemark work --slots`: a process and a node of its own, with its part of the machine. */
export interface Slot {
  /** 1 is the first. */
  number: number;
  /** Number of slots of this machine. */
  of: number;
}

/** Variable by which the process of a slot, and the program of its job, learn the number of the slot. */
export const SLOT = "TIDEMARK_SLOT";
/** Descriptor of the pipe to the process that started the slots. */
export const LIFELINE = 3;

const MOST_NAME = 64;
/** Least that `--memory` may name. */
const LEAST_MEMORY_BYTES = 32e6;

/** Returns the name of the folders of a slot. */
export const folderOf = ({ number }: Slot): string => `slot-${number}`;

/** Returns the slot that this process serves; null when it was not started for one. @throws Fault BAD_INPUT */
export function readSlot(config: Config, env: Environment): Slot | null {
  const text = env[SLOT];
  if (text === undefined) return null;
  const slot = { number: Number(text), of: config.count("slots") };
  if (Number.isInteger(slot.number) && slot.number >= 1 && slot.number <= slot.of) return slot;
  throw usage(`${SLOT}=${text}`, "tidemark work --slots sets it for its own processes; take it out of the environment");
}

/** Returns what all slots of a machine share. `state`: state folder of the machine. */
export const machineOf = (state: string, slots: number): Machine => ({
  state,
  folders: Array.from({ length: slots }, (_, index) => join(state, folderOf({ number: index + 1, of: slots }))),
});

/** Returns the command for the worker of a slot, with its name, its folders and its part of memory and disk. */
export async function commandOfSlot(command: WorkCommand, slot: Slot): Promise<WorkCommand> {
  const { config, terminal, platform } = command;
  const machine = machineOf(await stateOfWorker(command), slot.of);
  const state = await stateFolder(join(machine.state, folderOf(slot)), platform.home);
  const freeBytes = (await readRoom(state)).freeBytes;
  return {
    ...command,
    state,
    machine,
    config: configOfSlot(config, { slot, freeBytes }),
    terminal: terminalOfSlot(terminal, slot),
  };
}

/** Returns the settings of a slot. `freeBytes`: free space on the disk, half of which captures of all slots may take. */
export function configOfSlot(config: Config, { slot, freeBytes }: { slot: Slot; freeBytes: number }): Config {
  const part = (bytes: number) => Math.floor(bytes / slot.of);
  return {
    ...config,
    text: (name) => {
      const value = config.text(name);
      return name === "name" ? nameOf(requestedName(value), slot) : value;
    },
    size: (name) => {
      const bytes = config.size(name);
      if (name === "memory") return bytes === null ? null : Math.max(LEAST_MEMORY_BYTES, part(bytes));
      if (name === "disk-budget") return part(bytes ?? freeBytes / 2);
      return bytes;
    },
    number: (name) => {
      const value = config.number(name);
      return name === "local-port" && value !== null ? value + slot.number - 1 : value;
    },
  };
}

function nameOf(name: string, slot: Slot): string {
  const end = `-${folderOf(slot)}`;
  return `${name.slice(0, MOST_NAME - end.length)}${end}`;
}

/** Returns a terminal whose messages name the slot, and which draws no progress over that of other slots. */
function terminalOfSlot(terminal: Terminal, { number: slot }: Slot): Terminal {
  return {
    ...terminal,
    isLive: false,
    say: (text, facts) => {
      const [first = "", ...more] = typeof text === "string" ? [text] : text;
      terminal.say([`Slot ${slot}: ${first}`, ...more], { ...facts, slot });
    },
    draw: (lines, facts) => {
      if (!terminal.isLive) terminal.draw(lines, () => ({ ...facts(), slot }));
    },
  };
}

/** Returns the variables of a slot that the environment of a job cannot replace. */
export const variablesOfSlot = (env: Environment): Environment =>
  Object.fromEntries(
    [SLOT, "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"].flatMap((name) =>
      env[name] === undefined ? [] : [[name, env[name]]],
    ),
  );

/**
 * Follows the process that started this slot: when it is gone, however it ended, this process stops as after SIGTERM. Returns
 * a function that tells it that the slot has joined the hub. @throws Fault BAD_INPUT when no such process started this one
 */
export function followStarter(stopping: AbortSignal): () => void {
  let pipe: Socket;
  try {
    pipe = new Socket({ fd: LIFELINE, readable: true, writable: true });
  } catch {
    throw usage(SLOT, "tidemark work --slots sets it for its own processes; take it out of the environment");
  }
  pipe.on("error", () => undefined);
  pipe.once("close", () => {
    if (!stopping.aborted) process.kill(process.pid, "SIGTERM");
  });
  pipe.resume();
  pipe.unref();
  let isTold = false;
  return () => {
    if (!isTold) pipe.write("ready\n");
    isTold = true;
  };
}
