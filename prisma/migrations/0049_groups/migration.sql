-- Accounts at providers of instances with their sealed keys, rules that scale groups by a queue, and who set a price.
CREATE TABLE "GroupAccount" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "organization" TEXT NOT NULL,
    "project" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    "seenAt" DATETIME,
    "lastFault" TEXT
);
CREATE UNIQUE INDEX "GroupAccount_name_key" ON "GroupAccount"("name");
CREATE TABLE "GroupAccountSecret" (
    "accountId" TEXT NOT NULL PRIMARY KEY,
    "sealed" TEXT NOT NULL,
    "keyVersion" INTEGER NOT NULL,
    CONSTRAINT "GroupAccountSecret_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "GroupAccount" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE TABLE "GroupRule" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "accountId" TEXT NOT NULL,
    "groupName" TEXT NOT NULL,
    "queue" TEXT NOT NULL,
    "min" INTEGER NOT NULL,
    "max" INTEGER NOT NULL,
    "idleMs" INTEGER NOT NULL,
    "cooldownMs" INTEGER NOT NULL,
    "isEnabled" BOOLEAN NOT NULL,
    "lowerSince" DATETIME,
    "decidedAt" DATETIME,
    "action" TEXT,
    "reason" TEXT,
    "fault" TEXT,
    "goneAt" DATETIME,
    CONSTRAINT "GroupRule_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "GroupAccount" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "GroupRule_accountId_groupName_key" ON "GroupRule"("accountId", "groupName");
ALTER TABLE "NodePrice" ADD COLUMN "isFromGroup" BOOLEAN NOT NULL DEFAULT false;
