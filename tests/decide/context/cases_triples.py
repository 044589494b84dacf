"""Chats in threes: one, the same case told by somebody else, and a near one that needs another answer.

The first and the second may share an answer; the third shares with neither. Turns are parted by ` | `.
"""

from __future__ import annotations

REWORDED = """
I'm flying from Bristol to Edinburgh next Friday with one cabin bag. | Sounds good. What would you like to know? | Can I add a suitcase, and what would it cost?
Next Friday I've got a flight from Bristol to Edinburgh and only a cabin bag booked. | Okay, how can I help? | Is it possible to add a suitcase, and how much is that?
I'm flying from Bristol to Dublin next Friday with one cabin bag. | Sounds good. What would you like to know? | Can I add a suitcase, and what would it cost?

The zipper on the backpack I got from you jammed after two hikes. | That's annoying, sorry. Do you still have the receipt? | Yes, I do. | Great. | So what are my options?
I purchased a backpack from your shop and after two hikes the zip got stuck. | I'm sorry about this. Have you kept the receipt? | I have. | Perfect. | What options do I have now?
I purchased a backpack from your shop and after two hikes the strap came off. | I'm sorry about this. Have you kept the receipt? | I have. | Perfect. | What options do I have now?

My toddler swallowed a small magnet an hour ago. | Is the child breathing normally? | Yes, she seems fine. | Okay. | Do we need to go to the hospital?
About an hour ago my little one swallowed a tiny magnet. | Is she breathing all right? | Yes, she looks okay. | I see. | Should we take her to hospital?
About an hour ago my little one swallowed a tiny bead. | Is she breathing all right? | Yes, she looks okay. | I see. | Should we take her to hospital?

I'm trying to grow basil on a windowsill that faces north. | It likes sun. | The leaves are turning yellow. What's wrong?
My basil stands on a north-facing windowsill. | Basil likes plenty of light. | Its leaves have gone yellow. What could be the problem?
My basil stands on a south-facing windowsill. | Basil likes plenty of light. | Its leaves have gone yellow. What could be the problem?

My employer wants me to sign a non-compete clause for two years. | In which state? | California. | I see. | Is that enforceable?
I've been asked by my company to sign a two-year non-compete agreement. | Which state are you in? | California. | Got it. | Can they enforce it?
I've been asked by my company to sign a two-year non-compete agreement. | Which state are you in? | Texas. | Got it. | Can they enforce it?

I need to paint the outside of a wooden shed. | Is the wood treated? | No, it is bare pine. | Okay. | What kind of primer should I use?
We want to paint our wooden garden shed on the outside. | Has the wood been treated? | No, it's untreated pine. | Alright. | Which primer would be right?
We want to paint our wooden garden shed on the inside. | Has the wood been treated? | No, it's untreated pine. | Alright. | Which primer would be right?

My phone gets really hot while charging overnight. | Which charger do you use? | A cheap one from a petrol station. | I see. | Is that dangerous?
When I charge my phone at night it becomes very hot. | What charger are you using? | An inexpensive one that I got at a gas station. | Hm. | Could it be dangerous?
When I charge my laptop at night it becomes very hot. | What charger are you using? | An inexpensive one that I got at a gas station. | Hm. | Could it be dangerous?

I want to make risotto but I have run out of white wine. | You can leave it out. | What can I use instead?
I'm cooking risotto and there's no white wine left. | It can be left out. | What could I substitute for it?
I'm cooking risotto and there's no chicken stock left. | It can be left out. | What could I substitute for it?

I was in a minor car accident and the other driver has no insurance. | Was anyone hurt? | No, only the bumper is dented. | Okay. | Who pays for the damage?
Someone without insurance hit my car, it was a small accident. | Is anybody injured? | Nobody, just a dent in the bumper. | I see. | Who has to cover the damage?
Someone without a licence hit my car, it was a small accident. | Is anybody injured? | Nobody, just a dent in the bumper. | I see. | Who has to cover the damage?

I've been learning Spanish for six months and can hold simple conversations. | Well done! | My goal is to read novels. How should I go on?
I have studied Spanish for half a year and manage easy conversations. | Nice work! | I'd like to be able to read novels. What should I do next?
I have studied Italian for half a year and manage easy conversations. | Nice work! | I'd like to be able to read novels. What should I do next?

Our dog has been scratching his ears all week. | Any discharge? | A bit of brown wax. | I see. | What might it be?
For a week now our dog keeps scratching at his ears. | Do you see any discharge? | Some brown wax. | Okay. | What could that be?
For a week now our dog keeps scratching at his paws. | Do you see any discharge? | Some brown wax. | Okay. | What could that be?

I'd like to dispute a charge of 59 dollars from a streaming service. | Do you recognise the merchant? | No, I never signed up. | Okay. | How long does the dispute take?
There is a 59 dollar charge from a streaming company that I want to dispute. | Do you know this merchant? | No, I have never subscribed. | I understand. | How long will the dispute take?
There is a 95 dollar charge from a streaming company that I want to dispute. | Do you know this merchant? | No, I have never subscribed. | I understand. | How long will the dispute take?

The heating in my rented flat has been off since Sunday. | Did you inform the landlord? | I emailed him twice, no answer. | Okay. | May I reduce the rent?
Since Sunday there's no heating in the apartment I rent. | Have you told your landlord? | I wrote him two emails, he has not answered. | I see. | Am I allowed to pay less rent?
Since Sunday there's no heating in the apartment I rent. | Have you told your landlord? | No, I have not told him. | I see. | Am I allowed to pay less rent?

I have a job interview at a bank tomorrow and only own sneakers. | Good luck! | Is it OK to wear them?
Tomorrow I've got an interview at a bank, but sneakers are the only shoes I own. | Fingers crossed! | Would it be fine to wear those?
Tomorrow I've got an interview at a startup, but sneakers are the only shoes I own. | Fingers crossed! | Would it be fine to wear those?

My vacuum cleaner has lost its suction. | Is the filter clean? | I washed it yesterday. | Good. | What else could it be?
The vacuum I have does not suck properly any more. | Did you clean the filter? | Yes, I washed it yesterday. | Okay. | What other reason could there be?
The hair dryer I have does not blow properly any more. | Did you clean the filter? | Yes, I washed it yesterday. | Okay. | What other reason could there be?

I bake bread with rye flour and the crumb turns out gummy. | How long do you let it cool? | Ten minutes. | I see. | What am I doing wrong?
The crumb of my rye bread always comes out gummy. | For how long does it cool? | 10 minutes. | Okay. | What is my mistake?
The crumb of my rye bread always comes out dry. | For how long does it cool? | 10 minutes. | Okay. | What is my mistake?

I inherited a house from my grandmother and want to sell it. | My condolences. | Do I owe tax on it?
My grandma left me her house and I'd like to sell. | I'm sorry for your loss. | Will I have to pay tax on that?
My grandma left me her house and I'd like to rent it out. | I'm sorry for your loss. | Will I have to pay tax on that?

I can't log in to the student portal since I changed my surname. | Have you tried your old name? | Yes, it says unknown user. | Okay. | How do I get back in?
Since my last name changed, logging in to the student portal fails. | Did you try the previous name? | I did, the message is unknown user. | I see. | How can I get access again?
Since my phone number changed, logging in to the student portal fails. | Did you try the previous number? | I did, the message is unknown user. | I see. | How can I get access again?
"""

CHATTER = """
I bought a tent and one of the poles snapped. | Oh no. Was it windy? | A little. | I see. | Can I get a spare pole?
Hiya! Hope your Monday is treating you well. | Hi! It is, thanks! | I bought a tent and one of the poles snapped, what a way to start a trip, ha. | Oh no. Was it windy? | A little. | I see. | You folks are quick! Can I get a spare pole?
Hiya! Hope your Monday is treating you well. | Hi! It is, thanks! | I bought a tent and one of the pegs snapped, what a way to start a trip, ha. | Oh no. Was it windy? | A little. | I see. | You folks are quick! Can I get a spare peg?

I need to renew my driving licence before June. | Is it a car licence? | Yes. | Okay. | Which documents do I need?
Good morning! Sorry, my coffee has not kicked in yet. | No rush! | I need to renew my driving licence before June. | Is it a car licence? | Yes. | Okay. | Awesome, you are a star. Which documents do I need?
Good morning! Sorry, my coffee has not kicked in yet. | No rush! | I need to renew my driving licence before June. | Is it a motorcycle licence? | Yes. | Okay. | Awesome, you are a star. Which documents do I need?

My router drops the connection every evening. | Have you restarted it? | Twice. | Okay. | What should I try next?
My router drops the connection every evening. My kids are going crazy, haha. | Oh dear! Have you restarted it? | Twice. | Okay. | It's pouring here, by the way. | Stay dry! | What should I try next?
My router drops the connection every evening. My kids are going crazy, haha. | Oh dear! Have you restarted it? | Not yet. | Okay. | It's pouring here, by the way. | Stay dry! | What should I try next?

I ordered a birthday cake for Saturday. | Which flavour? | Lemon. | Noted. | Could you deliver it before noon?
Hello hello! | Hi there! | I ordered a birthday cake for Saturday. | Which flavour? | Lemon, yum. | Great choice! | I can't wait, it's going to be so much fun. | Sounds lovely! | Could you deliver it before noon?
Hello hello! | Hi there! | I ordered a birthday cake for Sunday. | Which flavour? | Lemon, yum. | Great choice! | I can't wait, it's going to be so much fun. | Sounds lovely! | Could you deliver it before noon?

My tax return was rejected because of a wrong account number. | I see. | How do I correct that?
My tax return was rejected because of a wrong account number. | I see. | Ugh, paperwork is the worst, isn't it? | It can be tedious! | Okay, deep breath. How do I correct that?
My tax return was rejected because of a missing signature. | I see. | Ugh, paperwork is the worst, isn't it? | It can be tedious! | Okay, deep breath. How do I correct that?
"""

OFFERS = """
The form for my visa is filled in. | Everything looks complete. Shall I submit it? | Yes please
My visa form is all filled in. | Looks complete to me. Would you like me to submit it? | Yes, please.
My visa form is all filled in. | Looks complete to me. Would you like me to delete it? | Yes, please.

My trip got shorter, I only need the hotel for one night. | I can change the booking to one night. Should I do that? | Yes, go ahead.
I only need one night at the hotel, my trip is shorter now. | I could change your booking to one night. Shall I? | Yes, go ahead.
I only need one night at the hotel, my trip is shorter now. | I could cancel your booking. Shall I? | Yes, go ahead.

The newsletter comes every day. | Do you want me to unsubscribe you? | Sure
I get the newsletter every day. | Shall I unsubscribe you? | Sure, please
I get the newsletter every day. | Shall I switch you to weekly? | Sure, please

My draft is in the folder. | Do you want me to publish the draft now? | ok do it
The draft is in the folder. | Should I publish your draft now? | OK, do it
The draft is in the folder. | Should I archive your draft now? | OK, do it
"""

RULES = """
I have lactose intolerance. | Noted. | What can I put in a creamy pasta sauce?
I'm lactose intolerant. | Okay, noted. | What could I put into a creamy pasta sauce?
I have a nut allergy. | Okay, noted. | What could I put into a creamy pasta sauce?

We only use open source software at work. | Understood. | Suggest a tool for drawing diagrams.
At work we may only use open source software. | Alright. | Please suggest a tool to draw diagrams.
At work we may only use Microsoft software. | Alright. | Please suggest a tool to draw diagrams.

I'm 70 and want to begin with strength training. | Great! | How often should I train?
I am seventy years old and would like to start strength training. | Wonderful! | How often should I train?
I am seventeen years old and would like to start strength training. | Wonderful! | How often should I train?
"""

ALONE = """
How do I descale my kettle? | Use vinegar. | Thanks. How far is the moon from the earth?
Which visa do I need for Brazil? | A tourist visa. | Great, thank you. How far is the moon from the earth?
I want to measure in miles only. | Okay. | How far is the moon from the earth?

My package has a torn label. | We can resend it. | Perfect. On another note, how do noise cancelling headphones work?
I forgot my password. | Use the reset link. | That worked. Unrelated, but how do noise cancelling headphones work?
Explain everything like I'm five. | Sure! | How do noise cancelling headphones work?

Can you help me write a birthday card? | Sure, for whom? | For my uncle. | Here it is: Happy birthday! | Lovely. How long does it take to boil potatoes?
My bike has a flat tyre. | Patch it. | Done, thanks! How long does it take to boil potatoes?
I live at an altitude of 3000 metres. | High up! | How long does it take to boil potatoes?

What is a good name for a cat? | Luna. | Cute! What causes thunder during a storm?
Convert 5 miles to kilometres. | About 8 km. | Thanks! What causes thunder during a storm?
Please reply in German from now on. | Gerne. | What causes thunder during a storm?
"""

CHINESE = """
我从你们店里买的背包拉链坏了。 | 很抱歉,还有小票吗? | 有。 | 好的。 | 可以怎么处理?
你们店买的背包,拉链坏掉了。 | 抱歉,小票还在吗? | 还在。 | 好的。 | 该怎么处理?
你们店买的背包,背带断掉了。 | 抱歉,小票还在吗? | 还在。 | 好的。 | 该怎么处理?

我租的房子从周日开始没有暖气。 | 告诉房东了吗? | 说了两次,没回复。 | 好的。 | 可以少交房租吗?
从周日起我租的房子就没暖气了。 | 跟房东说了吗? | 说过两次,他没回复。 | 明白。 | 房租可以少交吗?
从周日起我租的房子就没热水了。 | 跟房东说了吗? | 说过两次,他没回复。 | 明白。 | 房租可以少交吗?

孩子吞了一颗小磁铁,一个小时前。 | 呼吸正常吗? | 正常。 | 好的。 | 需要去医院吗?
一个小时前我家孩子吞下了一颗小磁铁。 | 他呼吸正常吗? | 正常。 | 明白了。 | 要不要去医院?
一个小时前我家孩子吞下了一颗小珠子。 | 他呼吸正常吗? | 正常。 | 明白了。 | 要不要去医院?

我想把机票从周五改到周一。 | 好的,是哪个航班? | CA1234。 | 好的。 | 改签费是多少?
我要把周五的机票改到周一。 | 请问航班号? | CA1234。 | 好的。 | 改签要多少费用?
我要把周五的机票退掉。 | 请问航班号? | CA1234。 | 好的。 | 要多少费用?

我的表格填好了。 | 要现在提交吗? | 好的。
表格我已经填好了。 | 需要现在提交吗? | 好的。
表格我已经填好了。 | 需要现在删除吗? | 好的。

手机充电时很烫。 | 用的什么充电器? | 便宜的杂牌。 | 明白了。 | 会不会有危险?
我的手机一充电就很烫。 | 您用什么充电器? | 一个便宜的杂牌。 | 好的。 | 有危险吗?
我的耳机一充电就很烫。 | 您用什么充电器? | 一个便宜的杂牌。 | 好的。 | 有危险吗?

怎么给水壶除垢? | 用醋。 | 谢谢。月球离地球有多远?
去巴西要什么签证? | 旅游签证。 | 好的,谢谢。月球离地球有多远?
以后只用英里回答。 | 好的。 | 月球离地球有多远?

我乳糖不耐受。 | 好的。 | 奶油意面酱可以放什么?
你好,我有乳糖不耐受。 | 好的,记下了。 | 奶油意面酱里可以放什么?
你好,我对坚果过敏。 | 好的,记下了。 | 奶油意面酱里可以放什么?
"""

TRIPLES = {
    "reworded": REWORDED,
    "chatter": CHATTER,
    "offers": OFFERS,
    "rules": RULES,
    "alone": ALONE,
    "chinese": CHINESE,
}
