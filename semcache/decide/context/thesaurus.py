"""Words that say the same about a case, whoever tells it: `refund` and `money back`, `broken` and `damaged`.

One concept a line. Words of one line may replace each other in somebody's story without changing
the answer; words that only belong to one kind (`leather`, `suede`) never share a line. What is
in no line stands for itself. Underscores stand for blanks, an English word for all its forms (see
`words.base`). Here are buying, paying and travelling; `thesaurus_life` has the rest. Knows
nothing of grammar.
"""

from __future__ import annotations

from collections.abc import Iterator

from semcache.decide.context.thesaurus_life import CONCEPTS

_CONCEPTS = """
refund money_back reimburse reimbursement repay refunded get_my_money_back 退款 退钱 退费
return send_back give_back bring_back take_back ship_back mail_back send_it_back bring_it_back take_it_back give_it_back send_them_back 退货 退回 寄回
exchange swap swap_out switch_out trade_in 换货 调换 换一个
replace replacement 更换 换新
cancel cancellation call_off 取消 退订
deliver delivery shipping ship shipment dispatch 配送 送货 发货 快递 运送
courier carrier delivery_driver 快递员
arrive come show_up turn_up reach get_here 到货 收到 送到 到达 送达
buy purchase order pick_up_from_you 购买 买 订购 下单 订单
checkout check_out 结账
pay payment 付款 支付 付钱 付 缴费
charge bill deduct take_out debit 扣款 收费 扣费 扣钱 收取
invoice billing_statement 账单 发票
twice double duplicate two_times 两次 重复
fee surcharge 手续费 费用
penalty fine 罚款
deposit down_payment 押金 定金
price cost 价格 价钱 多少钱 售价
discount promo promotion coupon voucher promo_code discount_code markdown 折扣 优惠 优惠券 打折
sale clearance on_sale 促销
cheap inexpensive low_cost affordable low_price low-priced 便宜 实惠
expensive pricey costly overpriced 贵 昂贵
receipt proof_of_purchase 收据 小票
broken damaged damage break cracked crack smashed shattered 坏了 坏的 损坏 破损 破了
defective faulty malfunction malfunctioning 故障 有毛病
missing lost lose disappear not_arrived never_arrived vanish 丢失 丢了 没收到 不见了 弄丢
misplace 放错地方
stolen steal theft 被偷 偷
wrong incorrect mistaken 错误 错的 不对 错
late delayed delay overdue behind_schedule 晚点 延误 推迟 迟到 延迟
early ahead_of_time ahead_of_schedule 提前
unused unworn never_used never_worn brand_new 没用过 没穿过 全新
unopened never_opened sealed 未拆封 没拆
opened unsealed unboxed 拆封 打开过 拆了
small tight too_small too_tight 太小 小了
large big loose too_big too_large too_loose 太大 大了
subscription subscribe 订阅
membership member 会员 会籍
plan 套餐
annual yearly every_year per_year a_year each_year 年度 每年 年费 包年 按年
monthly every_month per_month a_month each_month 每月 按月 包月 月费
weekly every_week per_week each_week 每周
daily every_day per_day each_day 每天 每日
upgrade 升级
downgrade 降级
renew renewal auto_renew auto-renew 续费 续订 续约
trial free_trial trial_period 试用
account profile 账户 账号 帐号
change modify alter amend edit 修改 更改 变更 改
switch 切换
move shift reschedule postpone push_back 改期 改签 改时间
extend extension prolong 延长 延期
address 地址
appointment booking reservation book reserve 预约 预订 预定
schedule set_up_an_appointment 安排
available availability in_stock 有货
out_of_stock sold_out unavailable 缺货 没货
hotel 酒店 宾馆
flight fly plane 航班 飞机
train rail 火车
ticket fare 票
luggage baggage suitcase 行李 箱子
seat 座位
trip travel journey travelling traveling 旅行 旅游 出行
vacation holiday 度假
room 房间
passport 护照
airport 机场
money fund 钱
cash 现金
bank 银行
card 卡
credit_card 信用卡
debit_card 借记卡
loan 贷款
mortgage home_loan 房贷
tax 税
insurance insure coverage insured 保险
store shop branch outlet_store 店 门店 商店
online web_order 网上 线上
size 尺码 尺寸 号码
color colour shade 颜色
shirt 衬衫
tee t-shirt tshirt T恤
trousers pants slacks 裤子
sneaker trainer running_shoe 运动鞋
shoe footwear 鞋
jacket coat 外套 夹克
sweater jumper pullover 毛衣
bag handbag purse 包
sofa couch settee 沙发
rug carpet 地毯
warranty guarantee 保修 质保
gift present 礼物 礼品
gift_card gift_certificate gift_voucher 礼品卡
store_credit credit_note 代金券
package parcel packet 包裹
box carton packaging 盒子 包装
track tracking trace 物流 追踪 查询
deadline due_date cutoff cut_off time_limit 截止 期限
send 发送 发
mail post 邮寄
submit hand_in 提交
receive obtain 得到
keep hold_on_to retain 保留 留着
begin commence 开始
finish complete done completed 完成 做完
name 名字 姓名
email e-mail 邮件 邮箱
partly partial partially 部分
entire whole full fully complete_refund 全部 整个 全额
free free_of_charge no_charge complimentary at_no_cost for_free without_charge 免费
business commercial 商业 企业
technician engineer repairman repair_person 师傅 技术员
find locate 找 寻找
transfer wire 转账 汇款
balance 余额
owe debt 欠 债务
gym fitness_club fitness_center fitness_centre health_club 健身房
haircut hair_cut trim 理发
salon hairdresser barber 美发店
plumber 水管工
weekend 周末
original 原来
used second_hand secondhand pre-owned 二手
budget price_range 预算
event occasion 活动
party celebration 聚会
restaurant diner eatery 餐厅 饭店
table 桌
waive drop_the_fee 免除
dispute contest challenge 争议
fraud scam unauthorized unauthorised 诈骗 盗刷
credit credited 积分
bonus reward points 奖励
technical tech 技术
complain complaint 投诉
"""


def entries() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (words of one phrase, concept); Han phrases as their characters."""
    for line in (_CONCEPTS + CONCEPTS).split("\n"):
        phrases = line.split()
        for phrase in phrases:
            han = not phrase.isascii()
            yield (tuple(phrase.lower()) if han else tuple(phrase.split("_"))), f"={phrases[0]}"
