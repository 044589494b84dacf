"""Pairs of chats that need different answers, near as they are. Turns are parted by ` | `, the user begins."""

from __future__ import annotations

DETAIL = """
I ordered a blender last week and it arrived broken. | Sorry! | How long do I have to send it back?
I ordered a blender last month and it arrived broken. | Sorry! | How long do I have to send it back?

I'm on the annual plan. | Okay. | What does it cost to cancel?
I'm on the monthly plan. | Okay. | What does it cost to cancel?

The boots I bought are leather. | Nice. | How do I clean them?
The boots I bought are suede. | Nice. | How do I clean them?

I opened the package already. | I see. | Can I still return it?
I have not opened the package yet. | I see. | Can I still return it?

I paid by credit card. | Thanks. | When will I see the refund?
I paid by bank transfer. | Thanks. | When will I see the refund?

My flight is with KLM to Oslo. | OK. | How much luggage can I take?
My flight is with Norwegian to Oslo. | OK. | How much luggage can I take?

I'm 17. | Okay. | Can I open an account?
I'm 18. | Okay. | Can I open an account?

Your parcel? | Sorry? | Where is my parcel? | It is at the depot in Leeds. | How do I pick it up?
Your parcel? | Sorry? | Where is my parcel? | It is at the post office in Leeds. | How do I pick it up?

Where is my parcel? | It was left with a neighbour. | What do I do now?
Where is my parcel? | It was returned to the sender. | What do I do now?

The fridge makes a clicking noise. | Hm. | What could be the cause?
The fridge makes a humming noise. | Hm. | What could be the cause?

I have a cat. | Cute. | Which plants should I avoid?
I have a horse. | Cute. | Which plants should I avoid?

I'd like the window seat on the 9:15 train. | Okay. | How much is it?
I'd like the window seat on the 9:50 train. | Okay. | How much is it?

My landlord gave me notice in writing. | I see. | Is that valid?
My landlord gave me notice by phone. | I see. | Is that valid?

I bought the headphones online. | Okay. | Can I return them?
I bought the headphones in the outlet. | Okay. | Can I return them?

We are two adults and three children. | Okay. | What do the tickets cost?
We are three adults and two children. | Okay. | What do the tickets cost?

The shirt is cotton and has an oil stain. | OK. | How do I wash it?
The shirt is silk and has an oil stain. | OK. | How do I wash it?

My laptop is still in the warranty period. | Great. | Who pays for the repair?
My laptop is out of the warranty period. | Okay. | Who pays for the repair?

I'm flying with a baby. | Nice. | What do I have to bring?
I'm flying with a dog. | Nice. | What do I have to bring?

I shipped it on Monday. | Thanks. | When does it arrive?
I shipped it on Thursday. | Thanks. | When does it arrive?

My wife is vegan. I'm allergic to nuts. | Noted. | What should I cook for myself?
I'm vegan. My wife is allergic to nuts. | Noted. | What should I cook for myself?

I want to send 200 dollars to Kenya. | OK. | What's the fee?
I want to send 2000 dollars to Kenya. | OK. | What's the fee?

The warranty on my dishwasher ended in May. | I see. | Can I still have it repaired?
The warranty on my dishwasher ends in May. | I see. | Can I still have it repaired?
"""

SWAPPED = """
My boss wants me to leave the team. | I see. | What should I tell him?
My boss wants me to stay in the team. | I see. | What should I tell him?

I have to send the parcel by Friday. | Okay. | What do I need for it?
I have to receive the parcel by Friday. | Okay. | What do I need for it?

The lease starts in a week. | Okay. | What should I check before that?
The lease ends in a week. | Okay. | What should I check before that?

I want to return a pair of shoes. | Sure. | How long does it take?
I want to renew my passport. | Sure. | How long does it take?

How do I cancel my gym membership? | In the app. | Is there a fee?
How do I cancel my flight? | On the website. | Is there a fee?

My phone screen is cracked. | Oh no. | Can you fix it?
My washing machine leaks. | Oh no. | Can you fix it?

I'm planning a trip to Japan. | Great. | What's the best time to go?
I'm planning a trip to Iceland. | Great. | What's the best time to go?

Tell me about tulips. | They are bulbs. | How often should I water them?
Tell me about cacti. | They are succulents. | How often should I water them?

My son broke his arm. | Sorry. | How long will it take to heal?
My son broke a tooth. | Sorry. | How long will it take to heal?

I want to upgrade to the pro plan. | Okay. | What will I pay?
I want to buy an extra license. | Okay. | What will I pay?

What is Kafka? | A message log. | How do I install it?
What is Redis? | A key-value store. | How do I install it?
"""

OFFER = """
My account is locked. | Shall I send a reset link? | Yes please.
My account is locked. | Shall I delete the account? | Yes please.

Here is my form. | Should I submit it now? | Go ahead.
Here is my form. | Should I discard it now? | Go ahead.

My order is wrong. | Would you like a refund? | Yes.
My order is wrong. | Would you like a replacement? | Yes.

My order is wrong. | Would you like a refund? | Yes.
My order is wrong. | Would you like a refund? | No.

Can you help me with my booking? | Do you want to move it to Tuesday? | Sure, do it.
Can you help me with my booking? | Do you want to move it to Wednesday? | Sure, do it.

My subscription ends soon. | Should I renew it for you? | Yes, please do that.
My subscription ends soon. | Should I cancel it for you? | Yes, please do that.

I lost my card. | Do you want me to block it? | ok
I lost my card. | Do you want me to unblock it? | ok

I need a summary. | Should it be in English? | Yes please
I need a summary. | Should it be in French? | Yes please

Write me a poem. | Roses are red. Want a longer one? | Sure
Write me a poem. | Roses are red. Want a funnier one? | Sure

My card was declined. | Should I try the card ending in 4411 again? | Yes, thanks.
My card was declined. | Should I try the card ending in 4417 again? | Yes, thanks.
"""

CONSTRAINT = """
I'm allergic to nuts. | Noted. | Give me a recipe for brownies.
I love chocolate. | Great. | Give me a recipe for brownies.

I can only use Java 8. | Okay. | How do I read a text file?
I like programming. | Okay. | How do I read a text file?

Please answer in French. | D'accord. | What is the capital of Peru?
Please answer in Spanish. | Vale. | What is the capital of Peru?

Answer in one sentence from now on. | OK. | How does a fridge work?
Hi. | Hello! | How does a fridge work?

I'm pregnant. | Congratulations! | Which cheese can I eat?
I'm on a diet. | Great! | Which cheese can I eat?

I live in Germany. | Okay. | When do shops close on Sunday?
I live in Poland. | Okay. | When do shops close on Sunday?

Explain things as if I were five. | Sure! | Why is the sky blue?
I'm a physicist. | Nice! | Why is the sky blue?

I don't eat meat. | Noted. | Suggest a quick lunch.
I don't eat fish. | Noted. | Suggest a quick lunch.

My budget is 300 dollars. | Okay. | Recommend a good office chair.
My budget is 900 dollars. | Okay. | Recommend a good office chair.

We use Postgres. | Okay. | How do I list all tables?
We use MySQL. | Okay. | How do I list all tables?

Use metric units only. | OK. | How tall is Mount Everest?
Hi! | Hello! | How tall is Mount Everest?

I'm a complete beginner. | Welcome. | How should I start running?
I've run ten marathons. | Wow. | How should I start running?

I have asthma. | Sorry to hear. | Which sports are good for winter?
I'm back from work. | Hi! | Which sports are good for winter?

I use an iPhone. | OK. | How do I block a number?
I use an Android phone. | OK. | How do I block a number?
"""

CORRECTED = """
Book the 8 am slot. | Done. | No, I meant 9 am. What does it cost?
Book the 9 am slot. | Done. | No, I meant 8 am. What does it cost?

I want to fly to Paris. | OK. | Sorry, not Paris but Lyon. | Noted. | How long is the flight?
I want to fly to Lyon. | OK. | Sorry, not Lyon but Paris. | Noted. | How long is the flight?

It's for my wife. | Nice. | Actually, it's for my mother. | OK. | What gift do you suggest?
It's for my mother. | Nice. | Actually, it's for my wife. | OK. | What gift do you suggest?

I need the large one. | OK. | Scratch that, make it the small one. | Sure. | When will it arrive?
I need the small one. | OK. | Scratch that, make it the large one. | Sure. | When will it arrive?

I want to keep my plan. | Great. | I changed my mind, cancel it. | Okay. | What happens next?
I want to cancel my plan. | Okay. | I changed my mind, keep it. | Great. | What happens next?
"""

POINTED = """
Name two treatments. | 1. Ice packs 2. Heat pads | Tell me more about the second one.
Name two treatments. | 1. Heat pads 2. Ice packs | Tell me more about the second one.

Which phones are good? | The Pixel, the Galaxy and the iPhone. | Why the last one?
Which phones are good? | The Pixel, the iPhone and the Galaxy. | Why the last one?

Give me options. | 1. Paint the wall 2. Use wallpaper | Let's go with option 1.
Give me options. | 1. Use wallpaper 2. Paint the wall | Let's go with option 1.

Give me options. | 1. Paint the wall 2. Use wallpaper | Explain the first option.
Give me options. | 1. Paint the wall 2. Use wallpaper | Explain the second option.

How tall is the Eiffel Tower? | 330 metres. | And how old is it?
How tall is Big Ben? | 96 metres. | And how old is it?

Who is Marie Curie? | A physicist. | Where was she born?
Who is Lise Meitner? | A physicist. | Where was she born?

What is a heat pump? | It moves heat. | Is it noisy?
What is a wind turbine? | It makes power. | Is it noisy?

What is Kafka? | A message log. | What is Redis? | A key-value store. | How do I install it?
What is Redis? | A key-value store. | What is Kafka? | A message log. | How do I install it?

How big is Mercury? | Quite small. | How big is Neptune? | Rather large. | How far away is it?
How big is Neptune? | Rather large. | How big is Mercury? | Quite small. | How far away is it?

Is coffee healthy? | In moderation. | What about tea?
Is coffee bad for teeth? | It can stain. | What about tea?

Translate cat to French. | chat | And to Spanish?
Translate dog to French. | chien | And to Spanish?
"""

ADDED = """
I bought a camera. | Nice. | Can I return it?
I bought a camera. | Nice. | I already used it on a trip. | OK. | Can I return it?

I need a hotel in Rome. | Sure. | Which one do you recommend?
I need a hotel in Rome. | Sure. | I'm in a wheelchair. | OK. | Which one do you recommend?

My knee hurts after running. | I see. | What can I do?
My knee hurts after running. | I see. | I had surgery on it. | OK. | What can I do?

I want to paint my kitchen. | Nice. | Which paint should I use?
I want to paint my kitchen. | Nice. | The walls are damp. | OK. | Which paint should I use?

How do I write a resignation letter? | Keep it short. | Show me one.
How do I write a resignation letter? | Keep it short. | I hate my boss. | I see. | Show me one.

I rented a car. | Okay. | Can I drive it abroad?
I rented a car. | Okay. | I'm 20. | Okay. | Can I drive it abroad?

I want to change my flight to Thursday. | Which booking? | The one to Madrid. | Okay. | What will it cost?
I want to change my flight to Thursday. | Which booking? | The one to Madrid. | Okay. I have a flexible fare, by the way. | Okay. | What will it cost?

My laptop won't turn on since this morning. | Did you try another charger? | Yes. | I see. | Can I get it repaired for free?
My laptop won't turn on since this morning. | Did you try another charger? | Yes. | I see. | I spilled tea on it last night. | Oh. | Can I get it repaired for free?

I need a birthday gift for my father. | What does he like? | Cooking. | Nice. | What do you suggest?
I need a birthday gift for my father. | What does he like? | Cooking. | Nice. | He has a bad back and cannot stand for long. | I see. | What do you suggest?

I'd like to book a double room for two nights. | Sure. | Is breakfast included?
I'd like to book a double room for two nights. | Sure. | I have a voucher from your newsletter. | Great. | Is breakfast included?

My order was marked as delivered but is not here. | I'm sorry. | What can I do?
My order was marked as delivered but is not here. | I'm sorry. | We moved house recently. | I see. | What can I do?

How much paint do I need for a room of 20 square metres? | What colour is the wall? | White. | Okay. | And how many coats?
How much paint do I need for a room of 20 square metres? | What colour is the wall? | White. | Okay. | The plaster is new. | I see. | And how many coats?

I want to run a half marathon in October. | Great! | How should I train?
I want to run a half marathon in October. | Great! | I hurt my knee last year. | Sorry to hear. | How should I train?

My son has a cough. | Since when? | Two days. | I see. | Can I give him honey?
My son has a cough. | Since when? | Two days. | I see. | He turned eight months yesterday. | Cute! | Can I give him honey?

I want to cancel my gym contract. | Okay. | How long is the notice period?
I want to cancel my gym contract. | Okay. | I signed up through my company. | I see. | How long is the notice period?

I'm looking for a tent for four people. | For summer? | Yes. | Okay. | Which one should I take?
I'm looking for a tent for four people. | For summer? | Yes. | Okay. | We travel by motorbike. | Nice. | Which one should I take?

I'd like to return these jeans. | Do you have the receipt? | Yes. | Good. | Will I get my money back?
I'd like to return these jeans. | Do you have the receipt? | Yes. | Good. | I cut off the label. | I see. | Will I get my money back?

What should I plant on my balcony? | How much sun does it get? | All day. | Okay. | Give me three ideas.
What should I plant on my balcony? | How much sun does it get? | All day. | Okay. | I have a cat that nibbles on everything. | Aww. | Give me three ideas.

I need to fix a dripping tap. | Kitchen or bath? | Kitchen. | Okay. | What tools do I need?
I need to fix a dripping tap. | Kitchen or bath? | Kitchen. | Okay. | I broke the valve while trying. | Oh. | What tools do I need?

I started a new job in May. | Congratulations! | How many holidays do I get?
I started a new job in May. | Congratulations! | I work three days a week. | Okay. | How many holidays do I get?

我想退掉这条牛仔裤。 | 有小票吗? | 有。 | 好的。 | 可以全额退款吗?
我想退掉这条牛仔裤。 | 有小票吗? | 有。 | 好的。 | 标签我已经剪掉了。 | 明白。 | 可以全额退款吗?

我儿子咳嗽两天了。 | 发烧吗? | 没有。 | 好的。 | 可以喝蜂蜜水吗?
我儿子咳嗽两天了。 | 发烧吗? | 没有。 | 好的。 | 他刚满八个月。 | 明白。 | 可以喝蜂蜜水吗?
"""

CHINESE = """
我对花生过敏。 | 好的。 | 推荐一个饼干的做法。
我喜欢巧克力。 | 好的。 | 推荐一个饼干的做法。

我用的是 Java 8。 | 好的。 | 怎么读取文本文件?
我用的是 Java 17。 | 好的。 | 怎么读取文本文件?

请用英文回答。 | OK. | 秘鲁的首都是哪里?
请用法语回答。 | D'accord. | 秘鲁的首都是哪里?

我想退一双鞋。 | 好的。 | 需要多久?
我想换护照。 | 好的。 | 需要多久?

我的账号被锁了。 | 要发送重置链接吗? | 好的。
我的账号被锁了。 | 要删除账号吗? | 好的。

订单有误。 | 您要退款吗? | 不用了。
订单有误。 | 您要退款吗? | 好的。

推荐两本书。 | 1. 三体 2. 活着 | 第二本讲什么?
推荐两本书。 | 1. 活着 2. 三体 | 第二本讲什么?

什么是热泵? | 一种设备。 | 它吵吗?
什么是风力发电机? | 一种设备。 | 它吵吗?

我住在上海。 | 好的。 | 周末去哪里玩?
我住在成都。 | 好的。 | 周末去哪里玩?

我已经拆封了。 | 好的。 | 还能退货吗?
我还没有拆封。 | 好的。 | 还能退货吗?

订8点的。 | 好了。 | 不对,我是说9点的。多少钱?
订9点的。 | 好了。 | 不对,我是说8点的。多少钱?

我怀孕了。 | 恭喜! | 可以吃哪种奶酪?
我在减肥。 | 加油! | 可以吃哪种奶酪?

我儿子发烧39度。 | 多大了? | 六岁。 | 好的。 | 可以吃布洛芬吗?
我儿子发烧39度。 | 多大了? | 六个月。 | 好的。 | 可以吃布洛芬吗?

预算三千元。 | 好的。 | 推荐一款手机。
预算五千元。 | 好的。 | 推荐一款手机。

衬衫是棉的,有油渍。 | 好的。 | 怎么洗?
衬衫是真丝的,有油渍。 | 好的。 | 怎么洗?
"""

REWORDED = """
The boots I bought from you are leather and got muddy. | Oh no! | How do I clean them?
My new suede boots are full of mud. | Sorry to hear! | What's the best way of cleaning them?

I ordered a dining table and one leg is scratched. | I'm sorry. | Can I get some money back but keep it?
My dining table came and a leg is missing. | My apologies. | Could you give me a partial refund if I keep it?

I bought a gas grill in your store and it won't light. | Did you try a new tank? | Yes. | I see. | Who repairs it?
The electric grill from your shop doesn't turn on. | Have you tried another outlet? | Yes, I did. | I see. | Who can repair that?

I paid for my order with PayPal and then cancelled it. | Okay. | When do I get my money?
I cancelled an order that I had paid with a gift card. | I see. | When will my money come back?

I'm a student and want to renew the subscription. | Great. | How much will it be for me?
I'd like to renew my subscription, I'm retired now. | Wonderful. | What will I have to pay?

My package says delivered but I never got it. | Did you ask the neighbours? | Yes. | I see. | What happens now?
My package is stuck at customs. | Did you get a letter? | Yes. | I see. | What will happen next?

I opened the perfume I bought last week and don't like the smell. | I see. | May I return it?
I bought perfume a week ago and don't like it, it's still sealed. | I see. | Is it possible to send it back?

The hotel I booked is overbooked for our wedding night. | That's terrible. | What compensation can we expect?
We booked a hotel for our wedding night and the room was dirty. | How awful. | What compensation may we get?

I rent a flat and my landlord wants to sell it. | I see. | Do I need to move out?
My landlord wants to move into the flat that I rent. | I see. | Will I have to leave?

My cat ate a lily leaf this morning. | When exactly? | At eight. | I see. | Should I go to the vet?
This morning at eight my cat ate some grass. | I see. | And now? | I see. | Do I need to see a vet?

I run a small bakery and want to sell online. | Nice. | Which permits do I need?
I have a small brewery and I'd like to sell on the internet. | Nice. | What permits are required?

I want to learn the guitar as an adult. | Great. | How long until I can play songs?
As an adult I would like to learn the violin. | Great. | How long does it take until I can play some songs?

My tomato plants have yellow leaves at the bottom. | Do you water them daily? | Yes. | I see. | What should I do?
The cucumber plants I have got yellow leaves. | Are you watering them every day? | Yes. | I see. | What can I do about it?

I flew economy and my suitcase arrived damaged. | Sorry! | How do I claim?
My suitcase never arrived after my flight in economy. | Sorry! | How can I make a claim?

I hurt my ankle playing football. | Can you walk? | A bit. | I see. | When can I train again?
I hurt my wrist when I played football. | Can you move it? | A little. | I see. | When may I start training again?

Our washing machine smells of burning rubber. | How old is it? | Four years. | I see. | Is it safe to use?
Our washing machine smells like mold. | How old is it? | It's four years old. | I see. | Can we use it safely?

I want to dye my black hair blond at home. | Okay. | What do I need?
I'd like to dye my grey hair black myself. | Okay. | What things do I need?

I signed a fixed-term lease and want to leave early. | I see. | What are the consequences?
I have an open-ended lease and would like to move out soon. | I see. | What consequences would it have?

I have a deck of pine and want to protect it. | Nice. | What should I put on it?
My deck is made of concrete, I'd like to protect it. | Nice. | What should I apply?

I'm using Postgres in Docker on a Mac and it's slow. | Hm. | How do I speed it up?
On my Mac I run Postgres natively and it is slow. | Hm. | How can I make it faster?

My phone fell into the sea. | Oh no. | How can I save it?
My phone fell into the sink with tap water. | Oh no. | How do I rescue it?

The sweater is wool and shrank in the wash. | Oh. | Can I stretch it again?
My cotton sweater shrank when I washed it. | Oh. | Is there a way to stretch it?

I lost my passport abroad and fly home soon. | Where are you? | I'm with a friend. | I see. | What do I have to do?
My visa expired abroad and my flight home is soon. | Where are you? | With a friend. | I see. | What must I do?

My manager denied my vacation because of a project. | I see. | Can he do that?
My manager cancelled my approved vacation due to a project. | I see. | Is he allowed to do this?
"""

TRAPS = {
    "reworded": REWORDED,
    "detail": DETAIL,
    "swapped": SWAPPED,
    "offer": OFFER,
    "constraint": CONSTRAINT,
    "corrected": CORRECTED,
    "pointed": POINTED,
    "added": ADDED,
    "chinese": CHINESE,
}
