"""Pairs of chats that the same answer serves. Turns are parted by ` | `, the user begins."""

from __future__ import annotations

REWORDED = """
I ordered a blender last week and it arrived broken. | I'm sorry to hear that. Would you like a refund or a replacement? | A refund, please. How long will it take?
The blender I bought last week came damaged. | Sorry about that! Do you want a replacement or your money back? | I'd like a refund. How long does that take?

I'm on the annual plan and want to cancel. | I can help. When did it renew? | It renewed on March 3. | Understood. | Do I get any money back?
I want to cancel my yearly plan. | Sure, when was the renewal? | The renewal was on 3 March. | Okay. | Will I get a refund?

My flight to Rome was cancelled this morning. | I'm sorry. Do you want to rebook? | No, I want a refund. What do I have to do?
This morning my flight to Rome got cancelled. | That's unfortunate. Shall I rebook you? | No, I would like my money back. What do I need to do?

I have a gas oven and I want to bake sourdough. | Great, what size of loaf? | A one kilo loaf. | Fine. | What temperature should I use?
I'd like to bake sourdough in my gas oven. | How big is the loaf? | The loaf is 1 kg. | Good. | Which temperature should I use?

We are renting a flat in Leeds and the boiler is broken. | Have you told the landlord? | Yes, two weeks ago. | I see. | Can we stop paying rent?
The boiler in our rented apartment in Leeds is broken. | Did you tell the landlord? | Yes, 2 weeks ago. | OK. | Can we stop paying the rent?

I'm using Python 3.8 with Django. | Nice. | How do I run the migrations?
I use Django on Python 3.8. | Okay. | How can I run the migrations?

My laptop won't connect to the office printer. | Is it on the same network? | Yes. | Okay, which system? | Windows 11. How do I fix it?
My laptop can't connect to the printer at the office. | Is it on the same network? | Yes. | And which system is it? | Windows 11. How can I fix this?

I bought a red jacket in size M, but it is too small. | No problem, which size do you need? | Size L. | It is in stock. | Can I swap it in the store?
The red jacket I ordered in size M is too small for me. | Which size would you need? | Size L. | We have it in stock. | Can I exchange it in a store?

My dentist appointment is on Friday at 10. | Yes, I can see it. | I need to move it to Monday. Is that possible?
I have an appointment with the dentist on Friday at 10. | I see it here. | I have to reschedule it to Monday. Is that possible?

I was charged twice for my gym membership in May. | Let me look. Yes, I see two charges. | When will I get the second one back?
My gym membership for May was charged two times. | I can see both charges here. | When do I get the second one back?

The washing machine I bought here leaks. | How old is it? | Eight months. | Okay. | Is that covered by the warranty?
I bought a washing machine from you and it is leaking. | How old is it? | It's 8 months old. | Thanks. | Does the warranty cover it?

I'm allergic to peanuts. | Noted. | What snacks can I bring on a hike?
I have a peanut allergy. | Okay, noted. | Which snacks could I bring on a hike?

I resigned on Monday and my notice period is one month. | I see. | When is my last day?
On Monday I resigned; the notice period is one month. | Understood. | When will my last day be?

My parcel was sent to my old address. | Do you have the tracking number? | Yes, it's 88412. | Thanks. | Can you send it to the new address?
My package went to my old address. | What is the tracking number? | It's 88412. | Thank you. | Could you send it to the new address?

I want to book a table for four tonight at seven. | For which restaurant? | The one in Camden. | OK. | Do I have to pay a deposit?
I'd like to reserve a table for 4 tonight at 7. | Which restaurant? | The Camden one. | Sure. | Do I need to pay a deposit?
"""

CHATTER = """
My order 5521 is late. | I'm sorry, let me check. | When will it arrive?
Hi there! | Hello! How can I help? | My order 5521 is late. | I'm sorry about that, let me check. | Thanks so much, you're very kind! | My pleasure! | When will it arrive?

I'm moving to Lisbon in June with two cats. | Exciting! | Which papers do the cats need?
Hey, hope you're having a good day! | Thank you, you too! | I'm moving to Lisbon in June with two cats. | How exciting! | It's so sunny here today. | Lovely! | Which papers do the cats need?

I have a wool coat with a wine stain. | Is it washable? | No, dry clean only. | Okay. | How do I get the stain out?
I have a wool coat with a wine stain. | Is it washable? | No, dry clean only. | Okay. | Haha, what a weekend that was. | Sounds like fun! | How do I get the stain out?

I pay for the family plan. | Yes, I see it. | How many people can use it?
Good morning! | Good morning! What can I do for you? | I pay for the family plan. | Yes, I can see it. | Great, thank you. | You're welcome. | How many people can use it?

My car needs new brakes and costs 900 dollars to repair. | I see. | Is that a fair price?
Sorry, long day, the traffic was crazy. | No worries! | My car needs new brakes and costs 900 dollars to repair. | I see. | Is that a fair price?

I bought the espresso machine in April. | Okay. | It drips at the group head. | I see. | Is it under warranty?
I bought the espresso machine in April. | Okay. | It drips at the group head. | Oh no, I'm sorry for the inconvenience. | No problem at all, lol. | Thanks for your patience! | Is it under warranty?

I have a subscription to the print edition. | Right. | How do I pause it?
Hello, good evening. | Good evening! | I have a subscription to the print edition. | Right. | Lovely weather today, isn't it? | It is! | So how do I pause it?

My daughter is six and has a fever of 39. | For how long? | Since yesterday. | I see. | Can I give her ibuprofen?
Hello doctor. | Hello! | My daughter is six and has a fever of 39. | For how long? | Since yesterday. | I see. | Thank you for your help. | Of course! | Can I give her ibuprofen?
"""

STANDALONE = """
My order has not arrived. | Which one? | Number 7781. | I'll look into it. | By the way, do you sell gift cards?
I want to change my password. | You can do that in the settings. | Do you sell gift cards?

The zipper on my tent broke. | I'm sorry. | What are your opening hours on Sunday?
Can I pay with PayPal? | Yes. | What are your opening hours on Sunday?

I bought a kettle. | Nice. | What is the capital of Mongolia?
My train was late today. | Oh no. | What is the capital of Mongolia?

How do I boil eggs? | Seven minutes. | Who wrote Pride and Prejudice?
Which bus goes to the airport? | Line 12. | Who wrote Pride and Prejudice?

My invoice is wrong. | Which line? | The second. | I see. | Thanks! Also, how do I reset a forgotten voicemail PIN?
Where is my parcel? | In Leeds. | How do I reset a forgotten voicemail PIN?

What is the tallest tree in the world? | Hyperion, a redwood. | How do vaccines produce immunity?
When did the war end? | In 1945. | How do vaccines produce immunity?

I returned the lamp on Tuesday. | Thanks, it arrived. | Do you offer student internships in summer?
The driver was rude. | I apologise. | Do you offer student internships in summer?

Explain photosynthesis. | Plants turn light into sugar. | One more question: how does compound interest work?
Define entropy. | A measure of disorder. | How does compound interest work?

My screen flickers. | Try another cable. | It helped, thanks! | Great! | Do you have a showroom in Manchester?
The sofa is too wide. | I'm sorry. | Do you have a showroom in Manchester?

I was charged a late fee. | I can remove it. | Thank you. | You're welcome. | How can people apply for a job at your company?
The app crashes on start. | Please update it. | How can people apply for a job at your company?
"""

ORDERED = """
I'm vegan. | Okay. | I have no oven. | Noted. | What can I cook for dinner?
I have no oven. | Okay. | I'm vegan. | Noted. | What can I cook for dinner?

My budget is 500 euros. | OK. | I need a camera for birds. | Sure. | Which one do you recommend?
I need a camera for birds. | Sure. | My budget is 500 euros. | OK. | Which one do you recommend?

I work night shifts. | I see. | I have two toddlers. | Busy! | How can I sleep better?
I have two toddlers. | Busy! | I work night shifts. | I see. | How can I sleep better?
"""

POINTED = """
Name two treatments. | 1. Ice packs 2. Heat pads | Tell me more about the second one.
Name two treatments. | 1) Ice packs 2) Heat pads | Please tell me more about the second one.

My account is locked. | Shall I send a reset link to your email? | Yes please.
My account is locked. | Do you want me to send a reset link to your email? | Yes, please do.

My order is damaged. | Should I refund the order? | Sure, go ahead.
The order is damaged. | Should I refund your order? | Yes, go ahead.

How tall is the Eiffel Tower? | 330 metres. | And how old is it?
How tall is the Eiffel Tower? | It is 330 metres tall. | And how old is it?

What is a heat pump? | It moves heat from outside to inside. | Is it noisy?
What's a heat pump? | It moves heat from outside to the inside. | Is it noisy?
"""

CHINESE = """
我上周买的搅拌机坏了。 | 很抱歉,您要退款还是换货? | 退款。多久能到账?
我上周购买的搅拌机坏了。 | 不好意思,您要换货还是退款? | 我要退款。多久到账?

我对花生过敏。 | 好的。 | 徒步可以带什么零食?
你好!我对花生过敏。 | 好的,明白了。 | 谢谢! | 不客气。 | 徒步可以带什么零食?

我的快递还没到。 | 单号多少? | 5521。 | 好的。 | 顺便问一下,你们周日几点开门?
我想修改密码。 | 在设置里。 | 你们周日几点开门?

苹果手机屏幕碎了。 | 抱歉。 | 蒙古国的首都是哪里?
今天火车晚点了。 | 抱歉。 | 蒙古国的首都是哪里?

我吃素。 | 好的。 | 我没有烤箱。 | 好的。 | 晚饭做什么?
我没有烤箱。 | 好的。 | 我吃素。 | 好的。 | 晚饭做什么?

我的账号被锁了。 | 要把重置链接发到您的邮箱吗? | 好的。
我的账号被锁了。 | 需要把重置链接发到您的邮箱吗? | 好的,谢谢。

我用的是 Java 8。 | 好的。 | 怎么读取 CSV 文件?
我用 Java 8。 | 明白了。 | 怎么读取 CSV 文件?

我买的红色外套M码太小了。 | 您需要什么码? | L码。 | 有货。 | 可以去门店换吗?
你好,我买的红色外套M码太小了。 | 您需要什么码? | L码。 | 有货。 | 太好了,谢谢! | 不客气。 | 可以去门店换吗?

推荐两本书。 | 1. 三体 2. 活着 | 第二本讲什么?
推荐两本书。 | 1、三体 2、活着 | 第二本讲什么?

什么是热泵? | 一种搬运热量的设备。 | 它吵吗?
什么是热泵? | 热泵是一种搬运热量的设备。 | 它吵吗?
"""

SAME = {
    "reworded": REWORDED,
    "chatter": CHATTER,
    "standalone": STANDALONE,
    "ordered": ORDERED,
    "pointed": POINTED,
    "chinese": CHINESE,
}
