import type { EngineName } from "#protocol/benchmarks/engines.ts";
import { aria2 } from "./aria2.ts";
import { awsCli } from "./aws-cli.ts";
import { boto3, crt } from "./boto.ts";
import type { Driver } from "./driver.ts";
import { sdk, tidemark, tidemarkAuto } from "./own.ts";
import { rclone, rcloneTuned } from "./rclone.ts";
import { s5cmd } from "./s5cmd.ts";
import { uplink } from "./uplink.ts";

/** All drivers, by engine. */
export const DRIVERS: Readonly<Record<EngineName, Driver>> = {
  tidemark,
  "tidemark-auto": tidemarkAuto,
  sdk,
  rclone,
  "rclone-tuned": rcloneTuned,
  boto3,
  crt,
  "aws-cli": awsCli,
  s5cmd,
  aria2,
  uplink,
};
