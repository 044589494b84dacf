"""Words that say the same about a case, whoever tells it: `refund` and `money back`, `broken` and `defective`.

One concept a line. Words of one line may replace each other in somebody's story without changing
the answer; words that only belong to one kind (`leather`, `suede`) never share a line. What is
in no line stands for itself. Knows nothing of grammar.
"""

from __future__ import annotations

from collections.abc import Iterator

# Underscores stand for blanks. English words stand for all their forms (see `words.base`).
_CONCEPTS = """
refund money_back reimburse reimbursement repay 退款 退钱 退费
return send_back give_back bring_back take_back 退货 退回 寄回
exchange swap replace replacement 换货 更换 调换 换一个 换新
cancel cancellation call_off 取消 退订
delivery deliver shipping ship shipment dispatch 配送 送货 发货 快递 运送
arrive come show_up turn_up reach 到货 收到 送到 到达 送达
buy purchase order bought 购买 买 订购 下单 订单
pay payment 付款 支付 付钱 付 缴费
charge bill 扣款 收费 扣费 扣钱 收取
invoice billing_statement 账单 发票
twice double duplicate two_times 两次 重复
fee surcharge 手续费 费用
price cost 价格 价钱 多少钱 售价
discount promo promotion coupon voucher promo_code discount_code 折扣 优惠 优惠券 打折
cheap inexpensive low_cost affordable low_price 便宜 实惠
expensive pricey costly 贵 昂贵
receipt proof_of_purchase 收据 小票
broken damaged damage break cracked crack 坏了 坏的 损坏 破损 破了
defective faulty malfunction malfunctioning 故障 有毛病
missing lost lose not_arrived never_arrived 丢失 丢了 没收到 不见了 弄丢
wrong incorrect mistaken 错误 错的 不对 错
late delayed delay overdue 晚点 延误 推迟 迟到 延迟
early ahead_of_time 提前
unused unworn unopened never_used never_worn 没用过 没穿过 未拆封 没拆
opened unsealed 拆封 打开过 拆了
small tight too_small 太小 小了
large big loose too_big too_large 太大 大了
subscription subscribe membership 订阅 会员 会籍
annual yearly 年度 每年 年费 包年 按年
monthly every_month per_month a_month each_month 每月 按月 包月 月费
weekly every_week per_week 每周
daily every_day per_day each_day 每天 每日
upgrade 升级
downgrade 降级
renew renewal 续费 续订 续约
trial free_trial 试用
account profile 账户 账号 帐号
password passcode 密码
log_in login sign_in logon 登录 登陆
sign_up register registration enrol enroll enrolment 注册 报名
change modify alter switch amend edit update 修改 更改 变更 改
move shift reschedule 改期 改签 改时间
reset 重置 重设
delete remove erase 删除 删掉 移除
address 地址
phone cell cellphone mobile smartphone 手机 电话
laptop notebook_computer 笔记本电脑
computer pc desktop 电脑 计算机
screen display monitor 屏幕 显示器
start boot_up turn_on power_on switch_on 开机 启动
stop quit end 停止 停
freeze hang 卡住 死机 卡死
slow sluggish 慢 卡顿
fast quick quickly rapid 快 迅速
error fault bug 报错
fix repair mend 修 修理 维修 修好
install set_up setup installation 安装 装
connect connection 连接 连
internet wifi wi-fi 网络 上网
appointment booking reservation book reserve 预约 预订 预定
hotel 酒店 宾馆
flight fly plane 航班 飞机
ticket 票
luggage baggage suitcase bag 行李 箱子
trip travel journey 旅行 旅游 出行
vacation holiday 度假
room 房间
car vehicle automobile auto 汽车 车子 轿车 车
bike bicycle 自行车
rent lease rental 租 出租 租赁
landlord 房东
tenant renter 租客 租户
flat apartment 公寓
house home 房子 家里
kid child children 孩子 小孩 儿童
baby infant 宝宝 婴儿
doctor physician 医生 大夫
medicine medication drug meds 药 药物
hurt ache pain painful sore 疼 痛
sick ill unwell 生病 不舒服 病
fever temperature 发烧 发热
tired exhausted fatigue 累 疲劳 疲惫
sleep asleep 睡 睡觉 睡眠
allergic allergy allergies 过敏
pregnant pregnancy expecting 怀孕 孕妇
vegan plant_based 纯素
vegetarian no_meat 素食 吃素
gluten_free without_gluten 无麸质
eat 吃
cook prepare 做饭 烹饪 做菜
recipe dish 菜谱 食谱 菜
dinner supper 晚餐 晚饭
lunch 午餐 午饭
breakfast 早餐 早饭
job work position role employment 工作 职位 上班
boss manager supervisor 老板 上司 领导
coworker colleague 同事
company firm employer 公司
fire dismiss lay_off terminate sack 解雇 辞退 开除 裁员
resign quit_my_job hand_in_my_notice 辞职 离职
contract agreement 合同 协议
lawyer attorney solicitor 律师
salary wage pay_check paycheck 工资 薪水
budget spend spending 预算
program code script application app software 程序 代码 软件 应用
function method 函数 方法
file document 文件 文档
folder directory 文件夹 目录
write draft compose 写 撰写
short brief concise 简短 简洁 短
long lengthy 长
email e-mail 邮件 邮箱
letter 信
essay article 文章 作文
beginner novice newbie starter new_to 初学者 新手 入门 小白
learn study 学 学习
teach explain explanation 解释 讲解 教
college university 大学
exam test 考试 测验
translate translation 翻译
plant 植物
garden yard 花园 院子
money cash 钱 现金
bank 银行
card 卡
loan mortgage 贷款 房贷
tax 税
insurance insure 保险
store shop branch 店 门店 商店
size 尺码 尺寸 号码
colour color 颜色
shirt tee t-shirt 衬衫 T恤
trousers pants 裤子
sneaker trainer 运动鞋
jacket coat 外套 夹克
sofa couch 沙发
tv television 电视 电视机
fridge refrigerator 冰箱
washing_machine washer 洗衣机
warranty guarantee 保修 质保
gift present 礼物 礼品
store_credit credit_note 代金券
box package parcel packet packaging 包裹 盒子 包装
tracking track 物流 追踪 查询
deadline due_date cutoff cut_off 截止 期限
extend extension prolong 延长 延期
allow permit permitted 允许 可以吗
help assist assistance support 帮 帮助 帮忙
find locate look_for search 找 寻找
send submit 发送 提交 发
receive 得到 拿到
keep hold_on_to retain 保留 留着
notice period_of_notice
begin commence 开始
finish complete done 完成 做完
happen occur 发生
name 名字 姓名
near close_to nearby 附近 靠近
kg kilo kilogram kilogramme 公斤 千克
cm centimeter centimetre 厘米
km kilometer kilometre 公里 千米
hr hour 小时
min minute 分钟
cold chilly 冷
hot warm 热
quiet silent 安静
easy simple 容易 简单
hard difficult tough 难 困难
important crucial 重要
recommend suggest advice advise 推荐 建议
best top 最好
safe harmless 安全
dangerous unsafe 危险
weekend 周末
partly partial partially 部分
entire whole full fully 全部 整个 全额
free free_of_charge no_charge complimentary at_no_cost 免费
business firm_account commercial 商业 企业
driver 司机
technician engineer repairman 师傅 技术员
leak leaking drip dripping 漏水 漏
noise noisy loud 噪音 吵
smell odor odour stink 味道 气味
dirty stained stain 脏 污渍
clean wash 清洗 洗 清洁
visit stop_by drop_in come_in 拜访
new brand_new 新
used second_hand secondhand 二手
student pupil 学生
teacher instructor tutor 老师
parent 父母 家长
friend buddy mate 朋友
location place spot 地方 地点
statement 流水
transfer wire 转账 汇款
balance 余额
owe debt 欠 债务
class lesson session 课
gym fitness_club 健身房
haircut 理发
plumber 水管工
"""


def entries() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (words of one phrase, concept); Han phrases as their characters."""
    for line in _CONCEPTS.strip().splitlines():
        phrases = line.split()
        for phrase in phrases:
            han = not phrase.isascii()
            yield (tuple(phrase.lower()) if han else tuple(phrase.split("_"))), f"={phrases[0]}"
