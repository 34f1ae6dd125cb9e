import { allInputs } from "./describe-api.ts";

/** Prints every procedure of the router with its caller and the JSON schema of its input, for `npm run prove -- strangers`. */

process.stdout.write(`${JSON.stringify(allInputs())}\n`);
