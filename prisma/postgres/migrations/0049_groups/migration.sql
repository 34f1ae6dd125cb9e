-- Accounts at providers of instances with their sealed keys, rules that scale groups by a queue, and who set a price.
CREATE TABLE "GroupAccount" (
    "id" TEXT COLLATE "C" NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "provider" TEXT COLLATE "C" NOT NULL,
    "organization" TEXT COLLATE "C" NOT NULL,
    "project" TEXT COLLATE "C" NOT NULL,
    "version" INTEGER NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "seenAt" TIMESTAMP(3),
    "lastFault" TEXT COLLATE "C",

    CONSTRAINT "GroupAccount_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "GroupAccount_name_key" ON "GroupAccount"("name");
CREATE TABLE "GroupAccountSecret" (
    "accountId" TEXT COLLATE "C" NOT NULL,
    "sealed" TEXT COLLATE "C" NOT NULL,
    "keyVersion" INTEGER NOT NULL,

    CONSTRAINT "GroupAccountSecret_pkey" PRIMARY KEY ("accountId")
);
ALTER TABLE "GroupAccountSecret" ADD CONSTRAINT "GroupAccountSecret_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "GroupAccount"("id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE TABLE "GroupRule" (
    "id" TEXT COLLATE "C" NOT NULL,
    "accountId" TEXT COLLATE "C" NOT NULL,
    "groupName" TEXT COLLATE "C" NOT NULL,
    "queue" TEXT COLLATE "C" NOT NULL,
    "min" INTEGER NOT NULL,
    "max" INTEGER NOT NULL,
    "idleMs" INTEGER NOT NULL,
    "cooldownMs" INTEGER NOT NULL,
    "isEnabled" BOOLEAN NOT NULL,
    "lowerSince" TIMESTAMP(3),
    "decidedAt" TIMESTAMP(3),
    "action" TEXT COLLATE "C",
    "reason" TEXT COLLATE "C",
    "fault" TEXT COLLATE "C",
    "goneAt" TIMESTAMP(3),

    CONSTRAINT "GroupRule_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "GroupRule_accountId_groupName_key" ON "GroupRule"("accountId", "groupName");
ALTER TABLE "GroupRule" ADD CONSTRAINT "GroupRule_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "GroupAccount"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "NodePrice" ADD COLUMN "isFromGroup" BOOLEAN NOT NULL DEFAULT false;
