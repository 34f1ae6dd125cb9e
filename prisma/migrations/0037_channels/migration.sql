-- Why a rule is muted and by whom, channels that new rules name by default, and the rank of messages that wait.
ALTER TABLE "AlertRule" ADD COLUMN "muteReason" TEXT NOT NULL DEFAULT '';
ALTER TABLE "AlertRule" ADD COLUMN "mutedBy" TEXT NOT NULL DEFAULT '';
ALTER TABLE "AlertChannel" ADD COLUMN "isDefault" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "AlertMessage" ADD COLUMN "rank" INTEGER NOT NULL DEFAULT 1;
