-- Who may do what: accounts that are invited and disabled, sessions that are listed, API tokens, fleets, credentials that
-- are replaced, and a record of all of it.
-- AlterTable
ALTER TABLE "User" ADD COLUMN "disabledAt" DATETIME;

-- AlterTable
ALTER TABLE "JoinToken" ADD COLUMN "fleet" TEXT NOT NULL DEFAULT 'default';

-- AlterTable
ALTER TABLE "Node" ADD COLUMN "credentialAt" DATETIME;
ALTER TABLE "Node" ADD COLUMN "nextHash" TEXT;
ALTER TABLE "Node" ADD COLUMN "overlapUntil" DATETIME;
ALTER TABLE "Node" ADD COLUMN "rotateAskedAt" DATETIME;
ALTER TABLE "Node" ADD COLUMN "fleet" TEXT NOT NULL DEFAULT 'default';
ALTER TABLE "Node" ADD COLUMN "identity" TEXT;

-- AlterTable
ALTER TABLE "Audit" ADD COLUMN "actorKind" TEXT NOT NULL DEFAULT 'nobody';
ALTER TABLE "Audit" ADD COLUMN "actorId" TEXT;
ALTER TABLE "Audit" ADD COLUMN "tokenId" TEXT;
ALTER TABLE "Audit" ADD COLUMN "subjectId" TEXT;
ALTER TABLE "Audit" ADD COLUMN "address" TEXT;
ALTER TABLE "Audit" ADD COLUMN "times" INTEGER NOT NULL DEFAULT 1;
ALTER TABLE "Audit" ADD COLUMN "lastAt" DATETIME;

-- What was written before carries the address of an account that may still be there.
UPDATE "Audit" SET "actorKind" = 'person', "actorId" = (SELECT "id" FROM "User" WHERE "email" = "Audit"."actor")
  WHERE "actor" IN (SELECT "email" FROM "User");

-- CreateTable
CREATE TABLE "OneTimeCode" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "hash" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "userId" TEXT,
    "madeById" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "expiresAt" DATETIME NOT NULL,
    "usedAt" DATETIME,
    "revokedAt" DATETIME,
    CONSTRAINT "OneTimeCode_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "ApiToken" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "hash" TEXT NOT NULL,
    "hint" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "expiresAt" DATETIME NOT NULL,
    "lastUsedAt" DATETIME,
    "revokedAt" DATETIME,
    CONSTRAINT "ApiToken_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- Sessions that are open stay open; each gets a name.
CREATE TABLE "new_Session" (
    "hash" TEXT NOT NULL PRIMARY KEY,
    "id" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "seenAt" DATETIME NOT NULL,
    "expiresAt" DATETIME NOT NULL,
    "address" TEXT NOT NULL DEFAULT '',
    "agent" TEXT NOT NULL DEFAULT '',
    CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
INSERT INTO "new_Session" ("createdAt", "expiresAt", "hash", "id", "seenAt", "userId")
  SELECT "createdAt", "expiresAt", "hash", lower(hex(randomblob(16))), "seenAt", "userId" FROM "Session";
DROP TABLE "Session";
ALTER TABLE "new_Session" RENAME TO "Session";
CREATE UNIQUE INDEX "Session_id_key" ON "Session"("id");
CREATE INDEX "Session_userId_idx" ON "Session"("userId");

-- CreateIndex
CREATE INDEX "Audit_actorId_id_idx" ON "Audit"("actorId", "id");

-- CreateIndex
CREATE INDEX "Audit_action_id_idx" ON "Audit"("action", "id");

-- CreateIndex
CREATE UNIQUE INDEX "Node_nextHash_key" ON "Node"("nextHash");

-- CreateIndex
CREATE UNIQUE INDEX "OneTimeCode_hash_key" ON "OneTimeCode"("hash");

-- CreateIndex
CREATE INDEX "OneTimeCode_userId_idx" ON "OneTimeCode"("userId");

-- CreateIndex
CREATE INDEX "OneTimeCode_createdAt_idx" ON "OneTimeCode"("createdAt");

-- CreateIndex
CREATE UNIQUE INDEX "ApiToken_hash_key" ON "ApiToken"("hash");

-- CreateIndex
CREATE INDEX "ApiToken_userId_idx" ON "ApiToken"("userId");
