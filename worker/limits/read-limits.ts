import type { Config } from "../command-line/config.ts";
import { wallClockOf } from "../command-line/schedule.ts";
import type { Limits } from "./throttle.ts";

/** Returns the limits that the flags set; a command without such flags has none. @throws Fault BAD_INPUT */
export function readLimits(config: Config): Limits {
  return {
    up: config.limit("limit-up"),
    down: config.limit("limit-down"),
    wallClock: wallClockOf(config.text("time-zone")),
    shareForOthers: config.share("household"),
  };
}
