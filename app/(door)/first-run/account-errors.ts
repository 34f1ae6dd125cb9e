import { SHORTEST_PASSWORD } from "#protocol/base/password.ts";

export interface AccountDraft {
  code: string;
  email: string;
  password: string;
}
export type AccountErrors = { [Field in keyof AccountDraft]?: string };

/**
 * Returns obvious errors by field; empty when the hub is to be asked. The page loads no schema parser for this. The hub
 * validates by the full rules, and its errors are shown at the same fields.
 */
export function accountErrors({ code, email, password }: AccountDraft): AccountErrors {
  return {
    ...(code.trim() === "" ? { code: "The code from the hub's console." } : {}),
    ...(/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email.trim()) ? {} : { email: "This does not look like an e-mail address." }),
    ...(password.length < SHORTEST_PASSWORD
      ? { password: `A password has at least ${SHORTEST_PASSWORD} characters.` }
      : {}),
  };
}
