import { isFault } from "#protocol/faults/fault.ts";
import type { Context } from "#server/core/api/trpc.ts";

/**
 * Slows down guesses at passwords with three limits: per account and network, per network over all accounts, and per account
 * over all networks. The last limit would let a stranger lock a person out. So it does not apply to networks from which the
 * account has signed in before.
 */

/** Tries of one network at one account before it must wait. */
const FREE_TRIES_PER_PAIR = 5;
const FREE_TRIES_PER_NETWORK = 20;
const FREE_TRIES_PER_ACCOUNT = 30;

type Guesser = Pick<Context, "hub" | "address">;

const keysOf = ({ address }: Guesser, email: string) => ({
  pair: `account:${email}@${address}`,
  network: `address:${address}`,
  account: `account:${email}`,
});

/** Returns whether the account has signed in from this network before. */
async function isKnownNetwork({ hub, address }: Guesser, email: string): Promise<boolean> {
  const known = { subject: email, address, action: { in: ["sign in", "accept invitation", "create first account"] } };
  return (await hub.db.audit.findFirst({ where: known, select: { id: true } })) !== null;
}

/** Counts a guess before it is checked, so that parallel guesses gain nothing. @throws Fault TOO_MANY_TRIES */
export async function countGuess(guesser: Guesser, email: string): Promise<void> {
  const { throttle } = guesser.hub;
  const { pair, network, account } = keysOf(guesser, email);
  throttle.take(network, FREE_TRIES_PER_NETWORK);
  throttle.take(pair, FREE_TRIES_PER_PAIR);
  try {
    throttle.take(account, FREE_TRIES_PER_ACCOUNT);
  } catch (error) {
    if (!isFault(error) || !(await isKnownNetwork(guesser, email))) throw error;
  }
}

/** Clears the guesses of this network at this account after a correct password. */
export function forgetGuesses(guesser: Guesser, email: string): void {
  const { throttle } = guesser.hub;
  const { pair, network } = keysOf(guesser, email);
  throttle.clear(pair);
  throttle.clear(network);
}
