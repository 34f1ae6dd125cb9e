import { faultFrom } from "#protocol/faults/fault.ts";
import { faultOf } from "../_hub/faults/fault-of.ts";

/** What the hub answers. Every refusal is a Fault, as everywhere below. */
export async function askHub<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw faultFrom(faultOf(error));
  }
}
