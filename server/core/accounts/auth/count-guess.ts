import { isFault } from "#protocol/faults/fault.ts";
import type { Context } from "#server/core/api/trpc.ts";

/**
 * Slows down guesses at the password of an account: by account and network together, by network over all accounts, and by
 * account over all networks. The last one would let a stranger lock a person out, so networks from which this account has
 * signed in before are not held by it.
 */

/** Tries of one network at one account before it has to wait. */
const FREE_TRIES_PER_PAIR = 5;
const FREE_TRIES_PER_NETWORK = 20;
const FREE_TRIES_PER_ACCOUNT = 30;

type Guesser = Pick<Context, "hub" | "address">;

const keysOf = ({ address }: Guesser, email: string) => ({
  pair: `account:${email}@${address}`,
  network: `address:${address}`,
  account: `account:${email}`,
});

/** Whether somebody signed in to this account from this network before. */
async function isKnownNetwork({ hub, address }: Guesser, email: string): Promise<boolean> {
  const known = { subject: email, address, action: { in: ["sign in", "accept invitation", "create first account"] } };
  return (await hub.db.audit.findFirst({ where: known, select: { id: true } })) !== null;
}

/** Counts a guess before it is looked at, so that many at once gain nothing. @throws Fault TOO_MANY_TRIES */
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

/** Forgets the guesses of this network at this account: the password was right. */
export function forgetGuesses(guesser: Guesser, email: string): void {
  const { throttle } = guesser.hub;
  const { pair, network } = keysOf(guesser, email);
  throttle.clear(pair);
  throttle.clear(network);
}
