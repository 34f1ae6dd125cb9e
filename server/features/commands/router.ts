import { byId } from "#protocol/wire/requests.ts";
import { listCommandsInput, sendCommandInput } from "#protocol/wire/send-command.ts";
import { operator, router, viewer } from "#server/core/api/trpc.ts";
import { cancelCommand } from "./cancel.ts";
import { listCommands } from "./list.ts";
import { sendCommand } from "./send.ts";

export const commandsRouter = router({
  send: operator.input(sendCommandInput).mutation(({ ctx, input }) => sendCommand(ctx, input)),
  list: viewer.input(listCommandsInput).query(({ ctx, input }) => listCommands(ctx.hub, input)),
  cancel: operator.input(byId).mutation(({ ctx, input }) => cancelCommand(ctx, input)),
});
