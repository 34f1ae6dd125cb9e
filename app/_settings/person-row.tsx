"use client";
import type { UserView } from "#protocol/fleet/people.ts";
import type { Role } from "#protocol/wire/requests.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { usePerson } from "../_hub/session/person.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { Cell, Row, TwoLines } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { dayOf } from "../_ui/text/times.ts";
import { isRole, ROLE_CHOICES } from "./role-words.ts";

const BARE_ROLES = ROLE_CHOICES.map(({ value, label }) => ({ value, label }));

interface PersonRowProps {
  user: UserView;
  busy: boolean;
  onRole: (role: Role) => void;
  onEnable: () => void;
  onAsk: (what: "reset" | "disable" | "remove") => void;
}

/** Shows one account. People cannot change their own, so that nobody locks themselves out by mistake. */
export function PersonRow({ user, busy, onRole, onEnable, onAsk }: PersonRowProps) {
  const isSelf = usePerson()?.id === user.id;
  const email = visibleText(user.email);
  const isDisabled = user.disabledAt !== null;
  const counts = [
    `${formatCount(user.sessions)} ${user.sessions === 1 ? "session" : "sessions"}`,
    ...(user.apiTokens === 0
      ? []
      : [`${formatCount(user.apiTokens)} API ${user.apiTokens === 1 ? "token" : "tokens"}`]),
  ];
  const actions = !isSelf && (
    <>
      {!isDisabled && (
        <Button look="quiet" size="small" aria-label={`Reset the password of ${email}`} onClick={() => onAsk("reset")}>
          Reset password…
        </Button>
      )}
      <Button
        look="quiet"
        size="small"
        disabled={busy}
        aria-label={`${isDisabled ? "Enable" : "Disable"} ${email}`}
        onClick={() => (isDisabled ? onEnable() : onAsk("disable"))}
      >
        {isDisabled ? "Enable" : "Disable…"}
      </Button>
      <Button look="quiet" size="small" aria-label={`Remove ${email}`} onClick={() => onAsk("remove")}>
        Remove…
      </Button>
    </>
  );
  return (
    <Row>
      <Cell className="max-w-0 w-[40%] max-sm:w-auto">
        <TwoLines
          first={
            <>
              <span className="font-mid" title={email}>
                {email}
              </span>
              {isSelf && <span className="ml-2 text-faint">you</span>}
            </>
          }
          second={
            isDisabled ? (
              <>
                disabled <Age at={user.disabledAt ?? 0} />
              </>
            ) : user.seenAt === null ? (
              `since ${dayOf(user.createdAt)}, not signed in`
            ) : (
              <>
                since {dayOf(user.createdAt)}, seen <Age at={user.seenAt} />
              </>
            )
          }
        />
        <div className="-ml-2 flex flex-wrap sm:hidden">{actions}</div>
      </Cell>
      <Cell className="w-36 max-sm:w-32 max-sm:pr-4 max-sm:align-top">
        {isSelf ? (
          <span title="Another admin has to change your role." className="px-2.5">
            {user.role}
          </span>
        ) : (
          <Select
            label={`Role of ${email}`}
            value={user.role}
            disabled={busy}
            choices={BARE_ROLES}
            onChange={(value) => {
              if (isRole(value) && value !== user.role) onRole(value);
            }}
          />
        )}
      </Cell>
      <Cell from="md" className="nums text-soft">
        {isDisabled ? <Tag tone="quiet">disabled</Tag> : counts.join(", ")}
      </Cell>
      <Cell from="sm" align="right">
        {actions}
      </Cell>
    </Row>
  );
}
