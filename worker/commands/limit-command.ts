import { formatRate } from "#protocol/base/units.ts";
import type { Config } from "../command-line/config.ts";
import { stateFolder } from "../host/state-folder.ts";
import type { Terminal } from "../command-line/terminal.ts";
import { usage } from "../command-line/command-context.ts";
import { NOTHING_SET, readSetLimits, writeSetLimits, type SetLimits } from "../limits/set-limits.ts";
import { parseTimetable } from "../command-line/schedule.ts";

/**
 * Implements `tidemark limit`: sets the limits of the workers on this machine, or shows those in effect. Returns the
 * exit code. Faults: BAD_INPUT, FOLDER_UNWRITABLE, those of the disk.
 */
export async function setLimitsOfMachine(command: {
  config: Config;
  terminal: Terminal;
  home: string | null;
}): Promise<number> {
  const { config, terminal, home } = command;
  if (config.isOn("reset") && (config.text("up") !== null || config.text("down") !== null)) {
    throw usage("--reset", "it takes both limits back; set one without it, or first reset and then set");
  }
  const state = await stateFolder(config.text("state"), home);
  const before = config.isOn("reset") ? NOTHING_SET : await readSetLimits(state);
  const after = { up: config.text("up") ?? before.up, down: config.text("down") ?? before.down };
  const isChange = config.isOn("reset") || config.text("up") !== null || config.text("down") !== null;
  if (isChange) await writeSetLimits(state, after);
  const follows = isChange ? " Workers that run follow within a second." : "";
  terminal.result(`${sentenceOf(after)}${follows}`, { type: "limits", ...after, state });
  return 0;
}

function sentenceOf(limits: SetLimits): string {
  const { up, down } = limits;
  if (up === null && down === null) return "No limit is set: workers keep to those they were started with.";
  return `Up: ${shown(up)}. Down: ${shown(down)}.`;
}

function shown(text: string | null): string {
  if (text === null) return "as the worker was started";
  const { windows, otherwiseBytesPerSecond } = parseTimetable(text);
  if (windows.length > 0) return text;
  return otherwiseBytesPerSecond === 0 ? "no limit" : formatRate(otherwiseBytesPerSecond, "bytes");
}
