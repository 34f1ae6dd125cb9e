import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { setupInput } from "#protocol/wire/requests.ts";
import type { HubStatus } from "#protocol/wire/views.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { createFirstAccount } from "./create-first-account.ts";
import { welcome } from "./welcome.ts";

/**
 * Creates the first account with the code from the console and signs in. @throws Fault TOO_MANY_TRIES, SETUP_CLOSED,
 * SETUP_CODE_WRONG
 */
export async function setup(context: Context, input: z.infer<typeof setupInput>): Promise<HubStatus> {
  const { hub } = context;
  hub.throttle.take(`setup:${context.address}`, 5);
  if ((await hub.db.user.count()) > 0) throw new Fault("SETUP_CLOSED");
  if (!hub.setupCode.fits(input.code)) throw new Fault("SETUP_CODE_WRONG");
  const person = await createFirstAccount(hub, { ...input, address: context.address });
  hub.throttle.clear(`setup:${context.address}`);
  return welcome(context, person);
}
