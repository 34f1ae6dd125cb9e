import {
  acknowledgeInput,
  activeAlertsInput,
  alertHistoryInput,
  createChannelInput,
  createRuleInput,
  muteInput,
  updateChannelInput,
  updateRuleInput,
} from "#protocol/alerts/alerts.ts";
import { byId } from "#protocol/wire/requests.ts";
import { admin, operator, router, viewer } from "#server/core/api/trpc.ts";
import { createChannel, listChannels, removeChannel, testChannel, updateChannel } from "./channels.ts";
import { acknowledge, activeAlerts, alertHistory } from "./list-alerts.ts";
import { createRule, listRules, muteRules, removeRule, updateRule } from "./rules.ts";

export const alertsRouter = router({
  rules: router({
    list: viewer.query(({ ctx }) => listRules(ctx.hub)),
    create: admin.input(createRuleInput).mutation(({ ctx, input }) => createRule(ctx, input)),
    update: admin.input(updateRuleInput).mutation(({ ctx, input }) => updateRule(ctx, input)),
    remove: admin.input(byId).mutation(({ ctx, input }) => removeRule(ctx, input)),
  }),
  channels: router({
    list: viewer.query(({ ctx }) => listChannels(ctx.hub)),
    create: admin.input(createChannelInput).mutation(({ ctx, input }) => createChannel(ctx, input)),
    update: admin.input(updateChannelInput).mutation(({ ctx, input }) => updateChannel(ctx, input)),
    remove: admin.input(byId).mutation(({ ctx, input }) => removeChannel(ctx, input)),
  }),
  test: admin.input(byId).mutation(({ ctx, input }) => testChannel(ctx, input)),
  active: viewer.input(activeAlertsInput).query(({ ctx, input }) => activeAlerts(ctx.hub, input)),
  history: viewer.input(alertHistoryInput).query(({ ctx, input }) => alertHistory(ctx.hub, input)),
  acknowledge: operator.input(acknowledgeInput).mutation(({ ctx, input }) => acknowledge(ctx, input)),
  mute: operator.input(muteInput).mutation(({ ctx, input }) => muteRules(ctx, input)),
});
